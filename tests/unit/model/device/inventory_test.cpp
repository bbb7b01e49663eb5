#include "model/device/inventory.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Device replicated(std::string id, unsigned replicas = 1) {
  Device made;
  made.id = std::move(id);
  made.replicas = replicas;
  return made;
}

std::vector<std::string> listed(const Inventory& inventory) {
  std::vector<std::string> ids;
  inventory.for_each_id([&](std::string id, const Device&) { ids.push_back(std::move(id)); });
  return ids;
}

TEST_CASE("an inventory is sorted and the first of two equal ids stays") {
  CHECK(listed(Inventory({replicated("b"), replicated("a"), replicated("10"), replicated("9")})) ==
        std::vector<std::string>{"10", "9", "a", "b"});
  std::vector<Device> devices;
  for (int i = 0; i < 100; ++i) {
    devices.push_back(replicated(i % 2 == 0 ? "b" : "a"));
    devices.back().error = i < 2 ? "" : "not the first";
  }
  const Inventory inventory(std::move(devices));
  CHECK(listed(inventory) == std::vector<std::string>{"a", "b"});
  CHECK(inventory.find("a")->healthy());
  CHECK(inventory.find("b")->healthy());
}

TEST_CASE("copies of an inventory share its devices, and equal ones are equal") {
  const Inventory inventory({replicated("a"), replicated("b")});
  const Inventory copy = inventory;
  CHECK(copy.devices().data() == inventory.devices().data());
  CHECK(copy == inventory);
  CHECK(Inventory({replicated("b"), replicated("a")}) == inventory);
  CHECK_FALSE(Inventory({replicated("a")}) == inventory);
  CHECK_FALSE(Inventory() == inventory);
  CHECK(Inventory() == Inventory(std::vector<Device>()));
  CHECK(Inventory().devices().empty());
  CHECK(Inventory().find("a") == nullptr);
  CHECK(Inventory().lists_same_as(Inventory()));
}

TEST_CASE("a device with replicas is listed and found by its replicas' ids only") {
  const Inventory inventory({replicated("gpu", 3), replicated("plain")});
  CHECK(listed(inventory) == std::vector<std::string>{"gpu::0", "gpu::1", "gpu::2", "plain"});
  CHECK(inventory.id_count() == 4);
  CHECK(inventory.find("gpu::2") == &inventory.devices()[0]);
  CHECK(inventory.find("plain") == &inventory.devices()[1]);
  for (const char* id : {"gpu", "gpu::3", "gpu::", "gpu::01", "gpu::-1", "gpu::+1", "gpu::1 ",
                         "gpu::99999999999999", "plain::0", "plai", "", "::0"}) {
    CHECK_MESSAGE(inventory.find(id) == nullptr, id);
  }
}

TEST_CASE("ids that contain colons are found") {
  const Inventory inventory({replicated("a::0"), replicated("b::0", 2)});
  CHECK(inventory.find("a::0"));
  CHECK(inventory.find("b::0::1"));
  CHECK_FALSE(inventory.find("b::0"));
  CHECK_FALSE(inventory.find("a::0::0"));
}

TEST_CASE("only ids, health, NUMA nodes and the number of replicas count as a change of the kubelet's list") {
  const Inventory before({replicated("a"), replicated("b")});
  const auto lists_same_if = [&](auto change) {
    std::vector<Device> devices = {replicated("a"), replicated("b")};
    change(devices[1]);
    return before.lists_same_as(Inventory(devices));
  };
  CHECK(lists_same_if([](Device& d) { d.attributes = {{"serial", "1"}}; }));
  CHECK_FALSE(lists_same_if([](Device& d) { d.error = "lost"; }));
  CHECK_FALSE(lists_same_if([](Device& d) { d.numa_nodes = {0}; }));
  CHECK_FALSE(lists_same_if([](Device& d) { d.replicas = 2; }));
  CHECK_FALSE(lists_same_if([](Device& d) { d.id = "c"; }));
  CHECK_FALSE(before.lists_same_as(Inventory({replicated("a")})));
}

TEST_CASE("the computed size of a list is at least that of its protobuf encoding") {
  // In bytes: device: tag and length; ID: tag, length and 63; health: tag, length and "Unhealthy".
  CHECK(wire_size(replicated(std::string(63, 'x'))) == 2 + 2 + 63 + 2 + 9);
  CHECK(wire_size(replicated(std::string(60, 'x'), 10)) == 10 * wire_size(replicated(std::string(63, 'x'))));
  Device with_numa = replicated("x");
  with_numa.numa_nodes = {0, 200};
  // In bytes: topology: tag and length; twice a NUMA node: tag, length, tag and varint.
  CHECK(wire_size(with_numa) == wire_size(replicated("x")) + 2 + (2 + 2) + (2 + 3));
}

TEST_CASE("replicas of a device can be held one by one, and if all are held, the device is Unhealthy") {
  Device gpu = replicated("gpu", 3);
  CHECK(gpu.reason().empty());
  gpu.reasons = {Reason::holder("held", {0, 2})};
  CHECK(gpu.healthy());
  CHECK(gpu.reason() == "held");
  CHECK_FALSE(gpu.healthy_share(0));
  CHECK(gpu.healthy_share(1));
  CHECK_FALSE(gpu.healthy_share(2));
  const Inventory some({gpu, replicated("plain")});
  std::string told;
  some.for_each_share([&](const std::string& id, const Device& each, bool healthy) {
    told += id + '=' + each.id + (healthy ? " " : "! ");
  });
  CHECK(told == "gpu::0=gpu! gpu::1=gpu gpu::2=gpu! plain=plain ");
  CHECK_FALSE(some.lists_same_as(Inventory({replicated("gpu", 3), replicated("plain")})));
  CHECK_FALSE(some == Inventory({replicated("gpu", 3), replicated("plain")}));
  CHECK(gpu.healthy_shares() == 1);
  CHECK(gpu.in_service());
  gpu.reasons = {Reason::holder("held", {0, 1, 2})};
  CHECK_FALSE(gpu.healthy());
  CHECK(gpu.in_service());
  gpu.error = "sick";
  CHECK(gpu.reason() == "held; and by itself: sick");
  CHECK_FALSE(gpu.in_service());
  gpu.reasons.clear();
  CHECK(gpu.reason() == "sick");
  CHECK_FALSE(gpu.healthy_share(1));
  Device plain = replicated("plain");
  plain.reasons = {Reason::holder("held", {0})};
  CHECK_FALSE(plain.healthy());
}

TEST_CASE("a device's reasons are those of all overlays in their order, its own last") {
  Device gpu = replicated("gpu", 4);
  gpu.reasons = {Reason::holder("held", {0}), Reason::holder("kept", {2})};
  CHECK(gpu.healthy_shares() == 2);
  CHECK_FALSE(gpu.drained());
  CHECK(gpu.reason() == "held; and kept");
  const Inventory held({gpu});
  gpu.reasons.push_back(Reason::drain("drained"));
  gpu.error = "sick";
  CHECK(gpu.healthy_shares() == 0);
  CHECK_FALSE(gpu.in_service());
  CHECK(gpu.drained());
  CHECK(gpu.reason() == "held; and kept; and drained; and by itself: sick");
  // In both lists no replica is available.
  Device whole = replicated("gpu", 4);
  whole.reasons = {Reason::holder("held", {0, 1, 2, 3})};
  CHECK(whole.healthy_shares() == 0);
  CHECK(Inventory({whole}).lists_same_as(Inventory({gpu})));
  // The kubelet's list has the health of each replica, but not the reasons.
  CHECK_FALSE(held.lists_same_as(Inventory({gpu})));
  gpu.error.clear();
  gpu.reasons = {Reason::holder("another", {0, 2})};
  CHECK(held.lists_same_as(Inventory({gpu})));
  CHECK_FALSE(held == Inventory({gpu}));
}

TEST_CASE("the number of a replica is read from its id") {
  CHECK(share_of(replicated("gpu", 12), "gpu::11") == 11);
  CHECK(share_of(replicated("gpu", 12), "gpu::0") == 0);
  CHECK(share_of(replicated("plain"), "plain") == 0);
  CHECK(share_of(replicated("gpu::3"), "gpu::3") == 0);
}

}  // namespace
}  // namespace plughost
