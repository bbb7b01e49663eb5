#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "unit/standin/test_plugin.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

nlohmann::json checkpoint_in(const TempDir& directory) {
  std::ifstream file(directory.at("kubelet_internal_checkpoint"));
  return nlohmann::json::parse(file).at("Data");
}

}  // namespace

TEST_CASE("a pod gets as many devices as it requests, and the plugin's response") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 3);
  REQUIRE(attached.listed);
  const Admission admission = attached.kubelet.allocate("pod", "main", kResource, 2);
  CHECK(admission.error == "");
  REQUIRE(admission.ids.size() == 2);
  CHECK(admission.answer.env.at("IDS") == admission.ids[0] + "," + admission.ids[1]);
  CHECK(admission.answer.nodes == std::vector<ContainerNode>{{"/dev/null", "/dev/it", "rw"}});
  CHECK(admission.answer.cdi.size() == 1);

  CHECK(attached.kubelet.allocate("other", "main", kResource, 2).error ==
        "requested number of devices unavailable for " + kResource + ". Requested: 2, Available: 1");
  CHECK(attached.kubelet.free("pod"));
  CHECK(attached.kubelet.allocate("other", "main", kResource, 2).admitted());
}

TEST_CASE("named devices are given if they are free, and refused otherwise") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 3);
  REQUIRE(attached.listed);
  CHECK(attached.kubelet.allocate_named("pod", "main", kResource, {"d2", "d0"}).ids ==
        std::vector<std::string>{"d2", "d0"});
  CHECK(attached.kubelet.allocate_named("other", "main", kResource, {"d0"}).error ==
        "device d0 of " + kResource + " is not free and healthy");
}

TEST_CASE("a plugin's error rejects the pod, and its devices are free again") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.plugin.behave({.allocate_error = "the device is on fire"});
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 1).error ==
        "rpc error: code = Unknown desc = the device is on fire");
  CHECK(attached.kubelet.pods().empty());
  attached.plugin.behave({});
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 1).admitted());
}

TEST_CASE("an Allocate response without a container response is an error, and the device stays in use") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.plugin.behave({.responses = 0});
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 1).error ==
        "no containers return in allocation response");
  attached.plugin.behave({});
  CHECK(attached.kubelet.allocate("other", "main", kResource, 1).error.ends_with("Available: 0"));
}

TEST_CASE("if an Allocate response has several container responses, the pod gets the first") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.plugin.behave({.responses = 2});
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 1).answer.env.at("RESPONSE") == "0");
  CHECK(attached.kubelet.allocate_ids(kResource, {"d0"}).containers.size() == 2);
}

TEST_CASE("allocate_ids returns the status of the plugin's Allocate unchanged") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.plugin.behave({.allocate_error = "no such device"});
  const AllocateAnswer answer = attached.kubelet.allocate_ids(kResource, {"what"});
  CHECK(answer.code == grpc::StatusCode::UNKNOWN);
  CHECK(answer.text == "no such device");
  CHECK(attached.kubelet.allocate_ids("vendor.example/other", {"d0"}).code == grpc::StatusCode::UNAVAILABLE);
}

TEST_CASE("the plugin's preference is followed") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 9, {}, {.preferred_allocation_available = true});
  REQUIRE(attached.listed);
  attached.plugin.behave({.preferred = [](const auto& request) {
    CHECK(request.available_deviceids_size() == 9);
    CHECK(request.allocation_size() == 2);
    return std::vector<std::string>{"d7", "d3"};
  }});
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 2).ids == std::vector<std::string>{"d7", "d3"});
}

TEST_CASE("an invalid preference fails the admission, and nothing is allocated") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 4, {}, {.preferred_allocation_available = true});
  REQUIRE(attached.listed);
  std::vector<std::string> answer;
  std::string why;
  SUBCASE("with too few ids") { answer = {"d0"}, why = "the answer has 1 ids, and 2 were asked for"; }
  SUBCASE("with too many ids") {
    answer = {"d0", "d1", "d2"}, why = "the answer has 3 ids, and 2 were asked for";
  }
  SUBCASE("with one id twice") { answer = {"d0", "d0"}, why = "the answer has an id twice"; }
  SUBCASE("with an id that is not available") {
    answer = {"d0", "zz"}, why = "zz in the answer is not available";
  }
  attached.plugin.behave({.preferred = [answer](const auto&) { return answer; }});
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 2).error ==
        "GetPreferredAllocation of " + kResource + " broke the rules: " + why);
  CHECK(attached.plugin.allocations() == 0);
  CHECK(attached.kubelet.pods().empty());
}

TEST_CASE("without a preference the choice is random") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 100);
  REQUIRE(attached.listed);
  std::vector<std::string> chosen;
  for (int i = 0; i < 100; ++i)
    chosen.push_back(attached.kubelet.allocate("pod-" + std::to_string(i), "main", kResource, 1).ids.at(0));
  CHECK_FALSE(std::ranges::is_sorted(chosen));
  CHECK(std::set(chosen.begin(), chosen.end()).size() == 100);
}

TEST_CASE("PreStartContainer is called with the pod's devices if the plugin requires it") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1, {}, {.pre_start_required = true});
  REQUIRE(attached.listed);
  REQUIRE(attached.kubelet.allocate("pod", "main", kResource, 1).admitted());
  CHECK(attached.kubelet.start_container("pod") == "");
  CHECK(attached.plugin.started() == std::vector<std::string>{"d0"});
  attached.plugin.behave({.pre_start_error = "not ready"});
  CHECK(attached.kubelet.start_container("pod") ==
        "device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = not ready");
  CHECK(attached.kubelet.start_container("nobody") ==
        "no devices found allocated in local cache for pod nobody");
}

TEST_CASE("the checkpoint names the pod's devices before allocate returns") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  REQUIRE(attached.kubelet.allocate("pod", "main", kResource, 1).admitted());
  const auto entry = checkpoint_in(directory).at("PodDeviceEntries").at(0);
  CHECK(entry.at("PodUID") == "pod");
  CHECK(entry.at("ContainerName") == "main");
  CHECK(entry.at("ResourceName") == kResource);
  CHECK(entry.at("DeviceIDs") == nlohmann::json{{"-1", {"d0"}}});
  CHECK(checkpoint_in(directory).at("RegisteredDevices").at(kResource) == nlohmann::json{"d0"});
  REQUIRE(attached.kubelet.free("pod"));
  CHECK(checkpoint_in(directory).at("PodDeviceEntries").is_null());
}

TEST_CASE("when the kubelet has stopped, the checkpoint has the newest list's healthy devices") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 2);
  REQUIRE(attached.listed);
  attached.plugin.list({{"x", true, {}}, {"y", false, {}}});
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.lists == 2; }));
  attached.kubelet.stop();
  CHECK(checkpoint_in(directory).at("RegisteredDevices").at(kResource) == nlohmann::json{"x"});
}

TEST_CASE("pods keep their devices over a restart, and nothing is allocated before the plugin is back") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 2);
  REQUIRE(attached.listed);
  const Admission before = attached.kubelet.allocate("pod", "main", kResource, 1);
  attached.kubelet.restart();
  CHECK(attached.now().capacity == 0);
  CHECK(attached.kubelet.allocate("other", "main", kResource, 1).error ==
        "no healthy devices present; cannot allocate unhealthy devices " + kResource);
  REQUIRE(attached.kubelet.pods().size() == 1);
  CHECK(attached.kubelet.pods()[0].answer == before.answer);

  TestPlugin again(directory.at("again.sock"));
  again.list(healthy_devices(2));
  REQUIRE(register_at(directory.path(), kResource, "again.sock").ok());
  REQUIRE(attached.wait_for([](const ResourceState& state) { return state.allocatable == 2; }));
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 1).answer == before.answer);
  CHECK(again.allocations() == 0);
  CHECK(attached.kubelet.allocate("other", "main", kResource, 2).error.ends_with("Available: 1"));
}

TEST_CASE("a stopped kubelet admits nothing") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  attached.kubelet.stop();
  CHECK(attached.kubelet.allocate("pod", "main", kResource, 1).error == "the kubelet is stopped");
  CHECK(attached.kubelet.allocate_ids(kResource, {"d0"}).code == grpc::StatusCode::UNAVAILABLE);
}
