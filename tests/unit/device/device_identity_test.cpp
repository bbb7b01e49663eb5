#include "device/device_identity.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Device at(const std::string& id, const std::vector<std::string>& nodes,
          std::vector<Attribute> attributes = {}) {
  Device device{.id = id, .attributes = std::move(attributes)};
  for (const std::string& node : nodes)
    device.nodes.push_back({.host_path = node, .container_path = PositionText(node)});
  return device;
}

bool same(const Device& one, const Device& other) {
  return is_same_device(identity_of(one), identity_of(other));
}

TEST_CASE("a device is the same by its UUID, else by its nodes or its path, else by its PCI address") {
  const Attribute one{.name = "uuid", .value = "GPU-1"};
  const Attribute two{.name = "uuid", .value = "GPU-2"};
  const Attribute address{.name = "pci", .value = "0000:01:00.0"};
  CHECK(same(at("a", {"/dev/a"}), at("b", {"/dev/a"})));
  CHECK_FALSE(same(at("a", {"/dev/a"}), at("a", {"/dev/b"})));
  CHECK(same(at("a", {"/dev/a", "/dev/b"}), at("b", {"/dev/a"})));
  CHECK(same(at("a", {"/dev/a"}), at("b", {"/dev/b", "/dev/a"})));
  // Two cards of one driver.
  CHECK_FALSE(same(at("a", {"/dev/ctl", "/dev/a"}), at("b", {"/dev/ctl", "/dev/b"})));
  CHECK_FALSE(same(at("a", {"/dev/a"}, {one}), at("b", {"/dev/a"}, {two})));
  CHECK(same(at("a", {"/dev/a"}, {one}), at("b", {"/dev/b"}, {one})));
  CHECK(same(at("a", {}, {address}), at("b", {}, {address})));
  CHECK_FALSE(same(at("a", {}, {address}), at("b", {}, {{"pci", "0000:02:00.0"}})));
  CHECK_FALSE(same(at("a", {}, {address}), at("b", {})));
  // Parts of one card have nodes of their own.
  CHECK_FALSE(same(at("a", {"/dev/a"}, {address}), at("b", {"/dev/b"}, {address})));
  CHECK_FALSE(same(at("a", {"/dev/a"}, {address}), at("b", {}, {address})));
  CHECK_FALSE(same(at("a", {}), at("b", {})));
  const Attribute path{.name = "path", .value = "/dev/a"};
  CHECK(same(at("a", {"/dev/a"}), at("b", {}, {path})));
  CHECK(same(at("a", {}, {path}), at("b", {}, {path})));
  CHECK_FALSE(same(at("a", {"/dev/b"}, {path}), at("b", {}, {path})));
  // No path of a file.
  const Attribute relative{.name = "path", .value = "a"};
  CHECK_FALSE(same(at("a", {}, {relative}), at("b", {}, {relative})));
}

TEST_CASE("who has a card has something of its parts, and of no other card's") {
  const auto part = [](const char* uuid, const char* card) {
    return identity_of(at(uuid, {}, {{"uuid", uuid}, {"card", card}}));
  };
  const DeviceIdentity card = identity_of(at("GPU-1", {}, {{"uuid", "GPU-1"}}));
  CHECK(overlap(card, part("MIG-1", "GPU-1")));
  CHECK(overlap(part("MIG-1", "GPU-1"), card));
  CHECK(overlap(part("GPU-1", "GPU-1"), part("MIG-1", "GPU-1")));
  CHECK(overlap(card, card));
  CHECK_FALSE(overlap(part("MIG-1", "GPU-1"), part("MIG-2", "GPU-1")));
  CHECK_FALSE(overlap(card, part("MIG-1", "GPU-2")));
  CHECK_FALSE(overlap(DeviceIdentity(), DeviceIdentity()));
  CHECK(DeviceIdentity().none());
  CHECK_FALSE(card.none());
}

}  // namespace
}  // namespace plughost
