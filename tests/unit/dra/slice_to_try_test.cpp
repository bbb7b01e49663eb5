#include "dra/slice_to_try.hpp"

#include <doctest/doctest.h>

#include "dra/limits.hpp"
#include "dra/names.hpp"
#include "dra/slice_json.hpp"

namespace plughost {
namespace {

const std::string kDriver = "plughost.example.com";
const SliceOwner kOwner{.driver = kDriver, .node = "node-a", .node_uid = {}};

TEST_CASE("the slice that is tried has a taint, shares and counters, and is its node's") {
  CHECK(
      slice_json(slice_to_try(kDriver, "node-a", true), kOwner, "v1").dump() ==
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":")" +
          slice_name(0, kDriver, "node-a", "node-a/to-try") +
          R"("},"spec":{"driver":"plughost.example.com","nodeName":"node-a","pool":)"
          R"({"name":"node-a/to-try","generation":1,"resourceSliceCount":1},"devices":[{"name":"to-try",)"
          R"("allowMultipleAllocations":true,"taints":[{"key":"plughost.io/to-try","effect":"NoSchedule"}],)"
          R"("consumesCounters":[{"counterSet":"to-try","counters":{"to-try":{"value":"1"}}}]}]}})");
  const Slice without = slice_to_try(kDriver, "node-a", false);
  CHECK(without.devices.at(0).counters.empty());
  CHECK(without.devices.at(0).several_claims);
  CHECK(without.devices.at(0).taints.size() == 1);
}

TEST_CASE("it breaks no limit of a slice's") {
  const Slice slice = slice_to_try(kDriver, "node-a", false);
  CHECK(limits_broken({.name = slice.pool, .devices = slice.devices, .counters = {}}).empty());
}

TEST_CASE("what comes back of it is what the API server has, and what was not tried is not there") {
  const Slice tried = slice_to_try(kDriver, "node-a", true);
  CHECK(features_found(tried, tried) == DraFeatures{});
  Slice shown = tried;
  shown.devices.edit()[0].taints.clear();
  CHECK(features_found(tried, shown) == DraFeatures{.taints = false});
  shown = tried;
  shown.devices.edit()[0].several_claims = false;
  CHECK(features_found(tried, shown) == DraFeatures{.sharing = false});
  shown = tried;
  shown.devices.edit()[0].counters.clear();
  CHECK(features_found(tried, shown) == DraFeatures{.partitions = false});
  const Slice without = slice_to_try(kDriver, "node-a", false);
  CHECK(features_found(without, without) == DraFeatures{.partitions = false});
}

TEST_CASE("features that are missing are told by their gates") {
  CHECK(gates_missing({}).empty());
  CHECK(gates_missing({.taints = false}) == std::vector<std::string>{"DRADeviceTaints"});
  CHECK(gates_missing({.sharing = false}) == std::vector<std::string>{"DRAConsumableCapacity"});
  CHECK(gates_missing({.partitions = false}) == std::vector<std::string>{"DRAPartitionableDevices"});
  CHECK(gates_missing({.taints = false, .sharing = false, .partitions = false}) ==
        std::vector<std::string>{"DRADeviceTaints", "DRAConsumableCapacity", "DRAPartitionableDevices"});
}

}  // namespace
}  // namespace plughost
