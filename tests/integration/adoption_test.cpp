// Checks that devices that pods hold by ids of another plugin, or of a former configuration, are given to no
// other pod until the holders end.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const std::string kTheirs = "id: \"theirs-{name}\"";

// A node on which another plugin, plughost with other ids, has served the gophers amy and bob.
struct TakenOver {
  explicit TakenOver(Node::Options options = {.pod_resources = true}, const std::string& theirs = kTheirs)
      : node(options) {
    node.files().file("gophers/amy");
    node.files().file("gophers/bob");
    node.configure(gophers(theirs));
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kGopher}));
  }

  std::string gophers(const std::string& more = {}) const {
    return listed(kGopher, node.path("gophers"),
                  "mounts: [{hostPath: \"{path}\", containerPath: \"/gophers/{n}\"}]" +
                      (more.empty() ? "" : ", " + more));
  }
  void hold(const std::string& id, const std::string& pod = "pod-a") {
    REQUIRE(node.kubelet().allocate_named(pod, "main", kGopher, {id}).admitted());
  }
  // Replaces the other plugin by plughost with its usual ids, or with the options `more`.
  void take_over(const std::string& more = {}) {
    node.end_daemon();
    REQUIRE(node.wait_for([](const KubeletState& state) { return !state.of(kGopher).attached; }));
    before = node.of(kGopher).lists;
    node.configure(gophers(more));
    node.start_daemon();
    REQUIRE(node.attached({kGopher}));
  }
  json device(const std::string& id) const {
    const Finished told = run_plughost({"status", "-o", "json", "--control", node.control()});
    const json status = json::parse(told.output);
    for (const json& resource : status["resources"]) {
      for (const json& each : resource["list"]) {
        if (resource["name"] == kGopher && each["id"] == id) return each;
      }
    }
    return {};
  }
  bool says(const std::string& id, const std::string& reason) const {
    return eventually([&] { return device(id)["reason"] == reason; });
  }

  Node node;
  std::size_t before = 0;  // lists from the other plugin
};

// The stand-in uses a pod's name as its UID.
const std::string kHeld = "held by default/pod-a since before plughost, as theirs-amy";

}  // namespace

TEST_CASE("a device that a pod has from another plugin is Unhealthy from the first list until the pod ends") {
  TakenOver over;
  over.hold("theirs-amy");
  over.take_over();
  Node& node = over.node;
  CHECK(node.unhealthy(kGopher, "amy", 0ms));
  CHECK(node.healthy(kGopher, "bob", 0ms));
  CHECK(over.says("amy", kHeld));
  CHECK(node.of(kGopher).lists == over.before + 1);
  CHECK(node.daemon().wait_for_line({"a pod holds a device by an id of another plugin", "resource=" + kGopher,
                                     "device=amy", "id=theirs-amy", "container=main"},
                                    kLong));
  // The device is never given, even if its id is requested.
  CHECK(node.kubelet().allocate_ids(kGopher, {"amy"}).text.find(kHeld) != std::string::npos);
  CHECK(node.kubelet().allocate("pod-b", "main", kGopher, 1).admitted());
  CHECK(node.kubelet().allocate("pod-c", "main", kGopher, 1).ids.empty());
  CHECK(run_plughost({"events", "--control", node.control()}).output.find("devices=amy") !=
        std::string::npos);

  REQUIRE(node.kubelet().free("pod-a"));
  CHECK(node.healthy(kGopher, "amy"));
  CHECK(node.daemon().wait_for_line({"id of another plugin released", "id=theirs-amy"}, kLong));
  CHECK(over.says("amy", ""));
  CHECK(node.kubelet().allocate("pod-c", "main", kGopher, 1).ids == std::vector<std::string>{"amy"});
}

TEST_CASE("a restart of plughost changes nothing for adopted devices, nor for its own pods' devices") {
  TakenOver over;
  over.hold("theirs-amy");
  over.take_over();
  over.hold("bob", "pod-b");
  for (int i = 0; i < 2; ++i) {
    over.take_over();
    CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
    CHECK(over.node.healthy(kGopher, "bob", 0ms));
    CHECK(over.node.of(kGopher).lists == over.before + 1);
  }
  CHECK(over.says("amy", kHeld));
}

TEST_CASE("without the pod resources API, the checkpoint gives the holders, and the end of their pods") {
  TakenOver over(Node::Options{});
  over.hold("theirs-amy");
  over.take_over();
  CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
  CHECK(over.device("amy")["reason"].get<std::string>().ends_with("since before plughost, as theirs-amy"));
  REQUIRE(over.node.kubelet().free("pod-a"));
  CHECK(over.node.healthy(kGopher, "amy"));
}

TEST_CASE("a device loses one share for each share that pods hold by another plugin's ids") {
  TakenOver over;
  over.hold("theirs-amy");
  over.take_over("replicas: 3");
  CHECK(over.node.healthy(kGopher, "amy::0", 0ms));
  CHECK(over.node.healthy(kGopher, "amy::1", 0ms));
  CHECK(over.node.unhealthy(kGopher, "amy::2", 0ms));
  CHECK(over.node.healthy(kGopher, "bob::2", 0ms));
  CHECK(over.says("amy", "1 of its 3 shares " + kHeld));
  REQUIRE(over.node.kubelet().free("pod-a"));
  CHECK(over.node.healthy(kGopher, "amy::2"));
}

TEST_CASE("a device whose replicas change while pods hold it is not given to more pods than replicas allow") {
  Node node{{.pod_resources = true}};
  bool restarts = false;
  std::string policy;
  std::string nodes;
  SUBCASE("over a reload") {}
  SUBCASE("over a reload, with an allocation policy, and with a node") {
    policy = ", allocationPolicy: packed";
    nodes = "nodes: [{hostPath: /dev/null}], ";
  }
  SUBCASE("over a restart") { restarts = true; }
  SUBCASE("over a restart, with an allocation policy, and with a node") {
    restarts = true;
    policy = ", allocationPolicy: packed";
    nodes = "nodes: [{hostPath: /dev/null}], ";
  }
  // Configures two devices with this number of ids each.
  unsigned former = 1;
  const auto share = [&](unsigned replicas) {
    const std::size_t registered = node.of(kToken).registrations.size();
    // Shares have a policy of their own, which is one of the options.
    const bool again = restarts || (replicas > 1) != (std::exchange(former, replicas) > 1);
    node.configure(
        counted(kToken, 2, nodes + "replicas: " + std::to_string(replicas) + (replicas > 1 ? policy : "")));
    if (restarts) {
      node.end_daemon();
      REQUIRE(node.wait_for([](const KubeletState& state) { return !state.of(kToken).attached; }));
      node.start_daemon();
    } else {
      REQUIRE(node.reload());
    }
    REQUIRE(node.wait_for([&](const KubeletState& state) {
      return state.of(kToken).attached && state.of(kToken).devices->size() == std::size_t{2} * replicas &&
             state.of(kToken).registrations.size() == registered + (again ? 1 : 0);
    }));
  };
  const auto free_ids = [&] {
    std::size_t count = 0;
    const ResourceState& state = node.of(kToken);
    for (const ListedDevice& device : *state.devices) count += device.healthy ? 1 : 0;
    return count;
  };
  const auto hold = [&](const std::string& pod, const std::string& id) {
    REQUIRE(node.kubelet().allocate_named(pod, "main", kToken, {id}).admitted());
  };
  node.configure(counted(kToken, 2, nodes + "replicas: 1"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kToken}));
  const std::string first = ids_of(node.of(kToken)).front();

  hold("whole", first);
  share(4);
  CHECK(eventually([&] { return free_ids() == 7; }));
  CHECK(node.healthy(kToken, first + "::2", 0ms));
  CHECK(node.unhealthy(kToken, first + "::3", 0ms));
  hold("share", first + "::0");
  share(2);
  CHECK(eventually([&] { return free_ids() == 3; }));
  share(1);
  CHECK(node.unhealthy(kToken, first));
  REQUIRE(node.kubelet().free("whole"));
  CHECK(node.unhealthy(kToken, first));
  REQUIRE(node.kubelet().free("share"));
  CHECK(node.healthy(kToken, first));
}

TEST_CASE("no device is given twice by a reload that changes the ids of devices") {
  TakenOver over;
  over.hold("theirs-amy");
  SUBCASE("the entry keeps its options") {
    over.node.configure(over.gophers());
    REQUIRE(over.node.reload());
  }
  SUBCASE("the entry is restarted, because its allocation policy has changed") {
    over.node.configure(over.gophers("allocationPolicy: packed"));
    REQUIRE(over.node.reload());
    REQUIRE(over.node.attached({kGopher}));
  }
  REQUIRE(over.node.healthy(kGopher, "bob"));
  CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
  CHECK(over.says("amy", kHeld));
  // The device stays Unhealthy through later scans and reloads.
  over.node.files().file("gophers/cem");
  REQUIRE(over.node.healthy(kGopher, "cem"));
  over.node.configure(over.gophers("env: {A: b}"));
  REQUIRE(over.node.reload());
  over.node.files().file("gophers/dan");
  REQUIRE(over.node.healthy(kGopher, "dan"));
  CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
  REQUIRE(over.node.kubelet().free("pod-a"));
  CHECK(over.node.healthy(kGopher, "amy"));
}

TEST_CASE("an id that one reload removes and the next one restores can be held, and is adopted again") {
  TakenOver over;
  Node& node = over.node;
  const auto load = [&](const std::string& more, const std::string& id) {
    node.configure(over.gophers(more));
    REQUIRE(node.reload());
    REQUIRE(node.wait_for([&](const KubeletState& state) {
      return std::ranges::any_of(*state.of(kGopher).devices, [&](const auto& each) { return each.id == id; });
    }));
  };
  over.hold("theirs-amy");
  load("", "bob");
  REQUIRE(node.unhealthy(kGopher, "amy"));
  REQUIRE(node.kubelet().free("pod-a"));
  REQUIRE(node.healthy(kGopher, "amy"));
  load(kTheirs, "theirs-bob");
  REQUIRE(node.healthy(kGopher, "theirs-amy"));
  over.hold("theirs-amy", "pod-b");
  load("", "bob");
  REQUIRE(node.healthy(kGopher, "bob"));
  CHECK(node.unhealthy(kGopher, "amy", 0ms));
}

TEST_CASE("after a reload a device that is pulled out is gone, and no other one is taken for it") {
  Node node{{.pod_resources = true}};
  const std::string shared = "mounts: [{hostPath: " + node.path("shared") + "}]";
  node.files().file("gophers/amy");
  node.files().file("gophers/bob");
  node.configure(listed(kGopher, node.path("gophers"), shared));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  REQUIRE(node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"}).admitted());
  node.configure(listed(kGopher, node.path("gophers"), shared + ", env: {A: b}"));
  REQUIRE(node.reload());
  node.files().file("gophers/cem");
  REQUIRE(node.healthy(kGopher, "cem"));
  node.files().remove("gophers/amy");
  REQUIRE(node.unhealthy(kGopher, "amy"));
  CHECK(node.healthy(kGopher, "bob", 0ms));
  CHECK(node.healthy(kGopher, "cem", 0ms));
}

TEST_CASE("a resource that a reload adds adopts the devices that pods hold from another plugin") {
  TakenOver over;
  over.hold("theirs-amy");
  over.node.configure(counted(kToken, 1));
  REQUIRE(over.node.reload());
  REQUIRE(over.node.attached({kToken}));
  over.node.configure(counted(kToken, 1) + over.gophers());
  REQUIRE(over.node.reload());
  REQUIRE(over.node.attached({kGopher}));
  REQUIRE(over.node.healthy(kGopher, "bob"));
  CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
}

TEST_CASE("a device that appears while a pod holds it by another plugin's id is listed as held") {
  TakenOver over;
  over.hold("theirs-amy");
  over.node.files().remove("gophers/amy");
  over.take_over();
  REQUIRE(over.node.count(kGopher, 1, 0ms));
  CHECK(over.node.daemon().wait_for_line(
      {"warn", "a pod holds an unknown device id", "id=theirs-amy", "pod=default/pod-a"}, kLong));
  over.node.files().file("gophers/amy");
  CHECK(over.node.wait_for(
      [&](const KubeletState& state) { return state.of(kGopher).lists > over.before + 1; }));
  CHECK(ids_of(over.node.of(kGopher)) == std::vector<std::string>{"amy", "bob"});
  CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
}

TEST_CASE(
    "a resource that appears late adopts the devices that another plugin has given to pods since the start") {
  Node node;
  const std::string amy = "example.com/amy";
  const std::string mounts = "mounts: [{hostPath: \"{path}\", containerPath: \"/gopher\"}]";
  node.files().file("theirs/amy");
  node.configure(listed(amy, node.path("theirs"), kTheirs + ", " + mounts));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({amy}));
  REQUIRE(node.kubelet().allocate_named("pod-a", "main", amy, {"theirs-amy"}).admitted());
  const std::filesystem::path checkpoint = node.plugins() / "kubelet_internal_checkpoint";
  std::filesystem::copy(checkpoint, node.path("later"));
  REQUIRE(node.kubelet().free("pod-a"));
  // plughost has a resource for each device, and amy does not exist yet.
  node.files().file("theirs/bob");
  node.files().remove("theirs/amy");
  node.configure(listed("\"example.com/{name}\"", node.path("theirs"), mounts));
  node.start_daemon();
  REQUIRE(node.attached({"example.com/bob"}));
  REQUIRE_FALSE(node.daemon().wait_for_line({"by an id of another plugin"}, kWatched));
  std::filesystem::copy(node.path("later"), node.path("device-plugins/new"));
  std::filesystem::rename(node.path("device-plugins/new"), checkpoint);
  node.files().file("theirs/amy");
  CHECK(node.daemon().wait_for_line({"a pod holds a device by an id of another plugin", "resource=" + amy},
                                    kLong));
  CHECK(node.attached({amy}));
}

TEST_CASE("a kubelet that has just started releases no device, because it does not report its pods yet") {
  TakenOver over;
  over.hold("theirs-amy");
  over.take_over();
  REQUIRE(over.says("amy", kHeld));
  over.node.kubelet().restart();
  REQUIRE(over.node.attached({kGopher}));
  const std::size_t lists = over.node.of(kGopher).lists;
  REQUIRE(over.node.kubelet().free("pod-a"));
  CHECK_FALSE(over.node.wait_for([&](const KubeletState& state) { return state.of(kGopher).lists > lists; },
                                 kWatched));
  CHECK(over.node.unhealthy(kGopher, "amy", 0ms));
  CHECK(over.node.healthy(kGopher, "amy"));
}

TEST_CASE("a checkpoint that is invalid, or whose read stalls, leads to a warning and delays no list") {
  TakenOver over;
  const std::string checkpoint = (over.node.plugins() / "kubelet_internal_checkpoint").string();
  // The kubelet writes the checkpoint shortly after a list, over any other content.
  REQUIRE(eventually([&] {
    std::ifstream file(checkpoint);
    return std::string(std::istreambuf_iterator(file), {}).find("theirs-amy") != std::string::npos;
  }));
  over.node.end_daemon();
  std::filesystem::remove(checkpoint);
  std::string why;
  SUBCASE("the checkpoint is invalid") {
    over.node.files().file("device-plugins/kubelet_internal_checkpoint", "{");
    why = "this is not a kubelet's checkpoint";
  }
  SUBCASE("the read of the checkpoint stalls") {
    REQUIRE(::mkfifo(checkpoint.c_str(), 0600) == 0);
    why = "reading it takes too long";
  }
  over.node.configure(over.gophers());
  over.node.start_daemon();
  CHECK(over.node.attached({kGopher}, limit(3s)));
  CHECK(over.node.healthy(kGopher, "amy", limit(3s)));
  CHECK(over.node.daemon().wait_for_line({"warn", "cannot read the kubelet's checkpoint", why}, kLong));
}
