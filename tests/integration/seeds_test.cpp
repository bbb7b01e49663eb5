// Repeats demonstrations by the authors of other device plugins, with plughost in the plugins' place.

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "integration/node.hpp"
#include "places.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kVisible = "NVIDIA_VISIBLE_DEVICES/";

std::string simulated(const std::string& name) {
  return counted(name, 10, "id: \"{resource}-{n}\", env: {\"NVIDIA_VISIBLE_DEVICES/{resource}\": \"{id}\"}");
}

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items{""};
  for (const char c : list) {
    if (c == ',')
      items.emplace_back();
    else
      items.back() += c;
  }
  return items;
}

}  // namespace

TEST_CASE(
    "demonstration of the gopher plugin: each file is a device, and a second pod waits for a second gopher") {
  Node node;
  const std::string gopher = "lixueduan.com/gopher";
  node.files().file("gophers/g1");
  node.files().directory("gophers/no-gopher");
  node.configure(
      listed(gopher, node.path("gophers"), "env: {Gopher: \"{id}\"}, preStart: {exec: [/bin/true]}"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(gopher, 1));
  const Admission one = node.kubelet().allocate("pod-one", "c", gopher, 1);
  REQUIRE(one.admitted());
  CHECK(one.answer.env == std::map<std::string, std::string>{{"Gopher", "g1"}});
  CHECK(node.of(gopher).plugin_options.value().pre_start_required);
  CHECK(node.kubelet().start_container("pod-one").empty());

  CHECK_FALSE(node.kubelet().allocate("pod-two", "c", gopher, 1).admitted());
  node.files().file("gophers/g2");
  REQUIRE(node.count(gopher, 2));
  CHECK(node.kubelet().allocate("pod-two", "c", gopher, 1).answer.env.at("Gopher") == "g2");

  node.kubelet().restart();  // the other plugin does not recover
  CHECK(node.attached({gopher}, limit(1s)));
  CHECK(node.of(gopher).allocatable == 2);
  CHECK(node.kubelet().pods().size() == 2);
  CHECK(node.kubelet().allocate_ids(gopher, {"g2", "g1"}).containers.at(0).env.at("Gopher") == "g2,g1");
}

TEST_CASE(
    "demonstration of simulated GPUs and RDMA: a pod that finds too few devices runs on a second node") {
  const std::string gpu = "nicktming.com/gpu";
  const std::string rdma = "nicktming.com/rdma";
  Node first;
  first.configure(simulated(gpu));
  first.start_kubelet();
  first.start_daemon();
  REQUIRE(first.count(gpu, 10));
  CHECK(first.of(gpu).capacity == 10);
  CHECK(ids_of(first.of(gpu)).front() == gpu + "-0");
  CHECK(ids_of(first.of(gpu)).back() == gpu + "-9");

  const Admission eight = first.kubelet().allocate("test-gpu-8", "podtest-8", gpu, 8);
  REQUIRE(eight.admitted());
  CHECK(eight.answer.env == std::map<std::string, std::string>{{kVisible + gpu, joined(eight.ids)}});
  const Admission three = first.kubelet().allocate("test-gpu-3", "c", gpu, 3);
  CHECK_FALSE(three.admitted());
  CHECK(three.error.find("Available: 2") != std::string::npos);

  Node second;
  second.configure(simulated(gpu));
  second.start_kubelet();
  second.start_daemon();
  REQUIRE(second.count(gpu, 10));
  CHECK(second.kubelet().allocate("test-gpu-3", "c", gpu, 3).admitted());

  first.configure(simulated(gpu) + simulated(rdma));
  REQUIRE(first.reload());
  REQUIRE(first.count(rdma, 10));
  CHECK(first.of(gpu).streams_ever == 1);
  const Admission both_gpu = first.kubelet().allocate("test-gpu2-rdma10", "testpod", gpu, 2);
  const Admission both_rdma = first.kubelet().allocate("test-gpu2-rdma10", "testpod", rdma, 10);
  REQUIRE(both_gpu.admitted());
  REQUIRE(both_rdma.admitted());
  CHECK(both_gpu.answer.env == std::map<std::string, std::string>{{kVisible + gpu, joined(both_gpu.ids)}});
  CHECK(both_rdma.answer.env == std::map<std::string, std::string>{{kVisible + rdma, joined(both_rdma.ids)}});

  const std::string checkpoint = first.plugins() / "kubelet_internal_checkpoint";
  const Finished words = run_plughost({"checkpoint", checkpoint});
  CHECK(words.exit_code == 0);
  CHECK(words.output.find("pod test-gpu-8, container podtest-8 holds of " + gpu) != std::string::npos);
  CHECK(words.output.find(kVisible + rdma + "=" + joined(both_rdma.ids)) != std::string::npos);

  const Finished json = run_plughost({"checkpoint", checkpoint, "-o", "json"});
  REQUIRE(json.exit_code == 0);
  const auto document = nlohmann::json::parse(json.output);
  CHECK(document["pods"].size() == 3);
  CHECK(document["registered"][gpu].size() == 10);
  CHECK(document["registered"][rdma].size() == 10);
  for (const auto& pod : document["pods"]) {
    if (pod["podUID"] != "test-gpu-8") continue;
    CHECK(pod["devices"].size() == 8);
    CHECK(pod["answer"]["env"][kVisible + gpu] == joined(eight.ids));
  }
}

TEST_CASE("an Allocate returns the response that a user's checkpoint has for the same ids") {
  for (const std::string file : {"checkpoint-one-pod.json", "checkpoint-two-resources.json"}) {
    CAPTURE(file);
    const Finished decoded = run_plughost({"checkpoint", in_source("/tests/golden/") + file, "-o", "json"});
    REQUIRE(decoded.exit_code == 0);
    const auto document = nlohmann::json::parse(decoded.output);
    CHECK(document["pods"].size() == (file == "checkpoint-one-pod.json" ? 1 : 3));
    for (const auto& pod : document["pods"]) {
      const std::string resource = pod["resource"];
      const std::map<std::string, std::string> stored = pod["answer"]["env"];
      REQUIRE(stored.size() == 1);
      const auto& [variable, value] = *stored.begin();
      const std::vector<std::string> ids = split(value);  // in the kubelet's order
      CHECK(ids.size() == pod["devices"].size());

      Node node;  // the variable had a different name in the first version
      node.configure(counted(resource, 10, "env: {\"" + variable + "\": \"{id}\"}"));
      node.start_kubelet();
      node.start_daemon();
      REQUIRE(node.attached({resource}));
      CHECK(node.kubelet().allocate_ids(resource, ids).containers.at(0).env == stored);
    }
  }
}
