#include "model/device/allocation_spec.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Device plain_card(const std::string& id, const std::string& error = "") {
  Device device;
  device.id = id;
  device.error = error;
  device.replicas = 4;
  return device;
}

const std::vector<NodeResourceSpec> kBoth{{.key = "doslab.io/gpu-count", .count = CardCount::kCards},
                                          {.key = "doslab.io/gpu-core", .count = CardCount::kCores}};

TEST_CASE("healthy cards count, and a hundred cores for each, in all lists of the entry") {
  const std::vector<Inventory> lists{Inventory({plain_card("a"), plain_card("b", "XID 79")}),
                                     Inventory({plain_card("c")})};
  CHECK(node_resources_of(kBoth, lists) ==
        NodeResources{{"doslab.io/gpu-core", 200}, {"doslab.io/gpu-count", 2}});
  CHECK(node_resources_of(kBoth, {}) == NodeResources{{"doslab.io/gpu-core", 0}, {"doslab.io/gpu-count", 0}});
}

TEST_CASE("a card counts even if all of its units are held, but not if it is drained") {
  Device held = plain_card("a");
  held.reasons = {Reason::holder("held", {0, 1, 2, 3})};
  CHECK_FALSE(held.healthy());
  CHECK(node_resources_of(kBoth, std::vector{Inventory({held})}).at("doslab.io/gpu-count") == 1);
  held.reasons.push_back(Reason::drain("drained"));
  CHECK(node_resources_of(kBoth, std::vector{Inventory({held})}).at("doslab.io/gpu-count") == 0);
}

TEST_CASE("a number that the Node shows as a different quantity of the same value is accepted") {
  CHECK(not_shown({{"a.example/x", 1000}}, {{"a.example/x", "1k"}}).empty());
  CHECK(not_shown({{"a.example/x", 1000}}, {{"a.example/x", "1e3"}}).empty());
  CHECK(not_shown({{"a.example/x", 1000}}, {{"a.example/x", "1Ki"}}) == NodeResources{{"a.example/x", 1000}});
  CHECK(not_shown({{"a.example/x", 1000}}, {{"a.example/x", "many"}}) ==
        NodeResources{{"a.example/x", 1000}});
}

TEST_CASE("a number that the Node lacks has to be written, unless it is 0") {
  const NodeResources wanted{{"a.example/x", 2}, {"a.example/y", 0}, {"a.example/z", 0}};
  CHECK(not_shown(wanted, {{"a.example/z", "5"}, {"cpu", "8"}}) ==
        NodeResources{{"a.example/x", 2}, {"a.example/z", 0}});
  CHECK(not_shown({}, {{"cpu", "8"}}).empty());
}

TEST_CASE("the patch has plughost's keys in the capacity, and no others") {
  CHECK(capacity_patch({{"doslab.io/gpu-count", 2}, {"doslab.io/gpu-core", 200}}).dump() ==
        R"({"status":{"capacity":{"doslab.io/gpu-core":"200","doslab.io/gpu-count":"2"}}})");
}

TEST_CASE("resource names that belong to Kubernetes cannot be configured") {
  CHECK(node_resource_error("doslab.io/gpu-count").empty());
  for (const char* key :
       {"cpu", "memory", "pods", "ephemeral-storage", "hugepages-2Mi", "attachable-volumes-x",
        "node.kubernetes.io/gpu-count", "requests.example/a", "a.example/b/c", "/a", ""}) {
    CAPTURE(key);
    CHECK_FALSE(node_resource_error(key).empty());
  }
}

}  // namespace
}  // namespace plughost
