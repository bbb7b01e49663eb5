#include "kubernetes/kubelet/checkpoint.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "config/places.hpp"
#include "places.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

TEST_CASE("the format with DeviceIDs as a list, before Kubernetes 1.20, is read") {
  std::ifstream file(test::in_source("/tests/golden/checkpoint-two-resources.json"));
  std::ostringstream text;
  text << file.rdbuf();
  const Checkpoint checkpoint = Checkpoint::parse(text.str());
  REQUIRE(checkpoint.pod_devices.size() == 3);
  CHECK(checkpoint.pod_devices[0].container == "podtest-8");
  CHECK(checkpoint.pod_devices[0].ids.at(-1).size() == 8);
  CHECK(checkpoint.pod_devices[1].resource == "nicktming.com/rdma");
  CHECK(checkpoint.pod_devices[2].allocation->env.at("NVIDIA_VISIBLE_DEVICES/nicktming.com/gpu") ==
        "nicktming.com/gpu-0,nicktming.com/gpu-4");
  CHECK(checkpoint.registered.at("nicktming.com/rdma").size() == 10);
}

TEST_CASE("the format with DeviceIDs by NUMA node is read") {
  const Checkpoint checkpoint = Checkpoint::parse(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r/x",
          "DeviceIDs":{"0":["a"],"1":["b","c"]},"AllocResp":"CgYKAUESATE="}],
          "RegisteredDevices":{"r/x":["a","b","c"],"r/y":null}},"Checksum":1})");
  REQUIRE(checkpoint.pod_devices.size() == 1);
  CHECK(checkpoint.pod_devices[0].ids.at(1) == std::vector<std::string>{"b", "c"});
  CHECK(checkpoint.pod_devices[0].allocation->env.at("A") == "1");
  CHECK(checkpoint.registered.size() == 1);
}

TEST_CASE("a checkpoint without any pod is read: Go writes null for an empty list") {
  const Checkpoint checkpoint =
      Checkpoint::parse(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
  CHECK(checkpoint.pod_devices.empty());
}

TEST_CASE("if a stored response cannot be parsed, the ids that the container holds are still read") {
  const Checkpoint checkpoint = Checkpoint::parse(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"r/x",
          "DeviceIDs":{"-1":["a"]},"AllocResp":"not base64!"}]}})");
  CHECK(checkpoint.pod_devices.at(0).ids.at(-1).front() == "a");
  CHECK_FALSE(checkpoint.pod_devices.at(0).allocation.has_value());
}

TEST_CASE("an invalid checkpoint is refused with an error text") {
  for (const char* text :
       {"", "[]", "{}", R"({"Data":{"PodDeviceEntries":[{}]}})", "{\"Data\":",
        R"({"Data":{"PodDeviceEntries":[{"PodUID":1,"ContainerName":"c","ResourceName":"r"}]}})"})
    CHECK_THROWS_WITH_AS(Checkpoint::parse(text), doctest::Contains("not a kubelet's checkpoint"),
                         std::runtime_error);
}

TEST_CASE("an empty checkpoint is reported as such, and an unreadable one with the kernel's reason") {
  const test::TempDir dir;
  dir.file("empty");
  CHECK_THROWS_WITH_AS(Checkpoint::read(dir.at("empty")), "it is empty", std::runtime_error);
  CHECK_THROWS_WITH_AS(Checkpoint::read(dir.at("none")), "cannot read it: No such file or directory",
                       std::system_error);
  CHECK_THROWS_AS(Checkpoint::read(dir.path()), std::system_error);
}

TEST_CASE("the default checkpoint is the kubelet's") {
  CHECK(std::string(kKubeletDirectory) + '/' + kCheckpointName == kKubeletCheckpoint);
}
