#include "driver/device_ledger.hpp"

#include <doctest/doctest.h>

#include "device/cdi.hpp"
#include "device/inventory.hpp"

namespace plughost {
namespace {

const std::string kPlugin = "x.com/serial";
const std::string kPool = "x.com/usb";

Device at(const std::string& id, const std::vector<std::string>& nodes,
          std::vector<Attribute> attributes = {}) {
  Device device{.id = id, .attributes = std::move(attributes)};
  for (const std::string& node : nodes)
    device.nodes.push_back({.host_path = node, .container_path = PositionText(node)});
  return device;
}

PreparedClaim claim_of(const std::string& name, const std::string& cdi_name,
                       std::vector<Claim::Consumer> pods = {{.uid = "1", .name = "pod"}}) {
  return {.ref = {.uid = "u-" + name, .name_space = "default", .name = name},
          .devices = {{.allocated = {.request = "r", .pool = "node/p", .device = "d"}, .cdi = {cdi_name}}},
          .consumers = std::move(pods)};
}

// Two resources, the first one in the configuration listed to the kubelet.
struct Lists {
  DeviceLedger ledger;
  std::vector<Device> plugin;
  std::vector<Device> pool;
  std::vector<PreparedClaim> claims;
  std::vector<PreparedClaim> left;
  bool plugin_is_dra = false;
  bool pool_is_dra = true;
  bool pool_first = false;

  OccupiedDevices look() {
    std::vector<DeviceLedger::List> lists{
        {.resource = kPlugin, .dra = plugin_is_dra, .where = "c.yaml:1:3", .devices = plugin},
        {.resource = kPool, .dra = pool_is_dra, .where = "c.yaml:2:3", .devices = pool}};
    if (pool_first) std::swap(lists[0], lists[1]);
    return ledger.look(lists, claims, left);
  }
  // "amy!": the devices, those that are occupied with a mark.
  static std::string text(const OccupiedDevices& occupied, const std::string& resource,
                          std::vector<Device> devices) {
    occupied.apply(resource, devices);
    std::string text;
    for (const Device& device : devices)
      text += (text.empty() ? "" : " ") + device.id + (device.healthy() ? "" : "!");
    return text;
  }
  std::string see() {
    const OccupiedDevices occupied = look();
    return text(occupied, kPlugin, plugin) + " | " + text(occupied, kPool, pool);
  }
  std::string reason(const std::string& resource) {
    std::vector<Device> devices = resource == kPlugin ? plugin : pool;
    look().apply(resource, devices);
    return devices.at(0).reason();
  }
};

TEST_CASE("of a list and a pool over one device the first one in the configuration has it, and says so") {
  Lists lists{.plugin = {at("amy", {"/dev/a"}), at("bob", {"/dev/b"})}, .pool = {at("usb1", {"/dev/a"})}};
  CHECK(lists.see() == "amy bob | usb1!");
  CHECK(lists.reason(kPool) == "it is x.com/serial's (c.yaml:1:3), which offers it as a device plugin");
  Lists other{.plugin = lists.plugin, .pool = lists.pool, .pool_first = true};
  CHECK(other.see() == "amy! bob | usb1");
  CHECK(other.reason(kPlugin) == "it is x.com/usb's (c.yaml:2:3), which offers it by DRA");
}

TEST_CASE("who lists a card has its parts, and who has a part has something of the card") {
  const std::vector<Device> card{at("GPU-1", {"/dev/nvidia0"}, {{"uuid", "GPU-1"}})};
  const std::vector<Device> parts{
      at("MIG-1", {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap66"}, {{"uuid", "MIG-1"}, {"card", "GPU-1"}}),
      at("MIG-2", {"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap67"}, {{"uuid", "MIG-2"}, {"card", "GPU-2"}})};
  Lists lists{.plugin = card, .pool = parts};
  CHECK(lists.see() == "GPU-1 | MIG-1! MIG-2");
  Lists other{.plugin = card, .pool = parts, .pool_first = true};
  CHECK(other.see() == "GPU-1! | MIG-1 MIG-2");
  Lists swapped{.plugin = parts, .pool = card};
  CHECK(swapped.see() == "MIG-1 MIG-2 | GPU-1!");
}

TEST_CASE("what a claim holds is recognised by what it is, where no list has it by its name") {
  Lists lists{.plugin = {at("amy", {"/dev/a"}), at("bob", {"/dev/b"})}, .pool = {at("usb1", {"/dev/c"})}};
  // The pool was called otherwise.
  PreparedClaim claim = claim_of("one", "x.com/former=one");
  lists.claims = {claim};
  CHECK(lists.see() == "amy bob | usb1");
  claim.devices[0].identity.places = {"/dev/a"};
  SUBCASE("a device plugin lists it now") {
    lists.claims = {claim};
    CHECK(lists.see() == "amy! bob | usb1");
    CHECK(lists.reason(kPlugin) == "held by claim default/one (pod default/pod)");
  }
  SUBCASE("by a driver that has been left, too") {
    lists.claims.clear();
    lists.left = {claim};
    CHECK(lists.see() == "amy! bob | usb1");
  }
  SUBCASE("another pool has it") {
    claim.devices[0].identity.places = {"/dev/c"};
    lists.claims = {claim};
    CHECK(lists.see() == "amy bob | usb1!");
  }
  SUBCASE("whose pool has it by its name is no stranger there") {
    claim.devices[0].cdi = {kPool + "=usb1"};
    claim.devices[0].identity.places = {"/dev/c"};
    lists.claims = {claim};
    CHECK(lists.see() == "amy bob | usb1");
  }
  SUBCASE("who holds a card holds its parts") {
    lists.plugin = {at("MIG-1", {}, {{"uuid", "MIG-1"}, {"card", "GPU-1"}}),
                    at("MIG-2", {}, {{"uuid", "MIG-2"}, {"card", "GPU-2"}})};
    claim.devices[0].identity = {.uuid = "GPU-1", .card = "GPU-1", .pci = {}, .places = {}};
    lists.claims = {claim};
    CHECK(lists.see() == "MIG-1! MIG-2 | usb1");
  }
  SUBCASE("what has gone is nobody's") {
    lists.claims = {claim};
    lists.plugin[0].gone = true;
    lists.plugin[0].trouble = "gone";
    CHECK(lists.reason(kPlugin) == "gone");
  }
}

TEST_CASE("who has a device keeps it, wherever the others stand, until it lists it no more") {
  Lists lists{.plugin = {}, .pool = {at("usb1", {"/dev/a"})}};
  CHECK(lists.see() == " | usb1");
  lists.plugin = {at("amy", {"/dev/a"})};
  CHECK(lists.see() == "amy! | usb1");
  CHECK(lists.see() == "amy! | usb1");
  SUBCASE("it is another device") {
    lists.pool = {at("usb1", {"/dev/c"})};
  }
  SUBCASE("it has gone") {
    lists.pool[0].gone = true;
    lists.pool[0].trouble = "gone";
    CHECK(lists.see() == "amy | usb1!");
    lists.pool[0] = at("usb2", {"/dev/c"});
  }
  SUBCASE("it is forgotten") {
    lists.pool.clear();
    CHECK(lists.see() == "amy | ");
    // From then on it is the other's.
    lists.pool = {at("usb1", {"/dev/a"})};
    CHECK(lists.see() == "amy | usb1!");
    return;
  }
  CHECK(lists.see().starts_with("amy | usb"));
}

TEST_CASE("two lists of the kubelet's may have one device, and two pools may not") {
  Lists lists{.plugin = {at("amy", {"/dev/a"})}, .pool = {at("usb1", {"/dev/a"})}, .pool_is_dra = false};
  CHECK(lists.see() == "amy | usb1");
  lists.plugin_is_dra = lists.pool_is_dra = true;
  CHECK(lists.see() == "amy | usb1!");
}

TEST_CASE("what a claim holds no list of the kubelet's has until it is given back, with who holds it") {
  Lists lists{.plugin = {at("amy", {"/dev/a"}), at("bob", {"/dev/b"})}, .pool = {}};
  lists.claims = {claim_of("camera", kPlugin + "=amy")};
  CHECK(lists.see() == "amy! bob | ");
  CHECK(lists.reason(kPlugin) == "held by claim default/camera (pod default/pod)");
  lists.claims = {claim_of("camera", kPool + "=amy")};
  CHECK(lists.see() == "amy bob | ");
  lists.claims.clear();
  CHECK(lists.see() == "amy bob | ");
}

TEST_CASE("what a claim holds is its pool's, also if another entry stands before it when plughost starts") {
  Lists lists{.plugin = {at("amy", {"/dev/a"})}, .pool = {at("usb1", {"/dev/a"})}};
  lists.claims = {claim_of("camera", kPool + "=usb1")};
  CHECK(lists.see() == "amy! | usb1");
  // And stays so.
  lists.claims.clear();
  CHECK(lists.see() == "amy! | usb1");
}

TEST_CASE("what a claim holds by a driver that has been left no pool has either") {
  Lists lists{.plugin = {at("amy", {"/dev/a"})}, .pool = {at("usb1", {"/dev/b"}), at("usb2", {"/dev/c"})}};
  lists.left = {claim_of("one", kPool + "=usb1"), claim_of("two", kPlugin + "=amy")};
  CHECK(lists.see() == "amy! | usb1! usb2");
  lists.left.clear();
  CHECK(lists.see() == "amy | usb1 usb2");
}

TEST_CASE("all shares of a device are taken, and a trouble of its own is told beside") {
  Device device = at("amy", {"/dev/a"});
  device.replicas = 3;
  device.trouble = "sick";
  Lists lists{.plugin = {device}, .pool = {}};
  lists.claims = {claim_of("camera", kPlugin + "=amy", {})};
  std::vector<Device> devices = lists.plugin;
  lists.look().apply(kPlugin, devices);
  CHECK(devices[0].taken == std::vector<unsigned>{0, 1, 2});
  CHECK(devices[0].reason() == "sick; and held by claim default/camera");
}

TEST_CASE("a card and its parts in one pool are the scheduler's to keep apart") {
  Lists lists{.plugin = {},
              .pool = {at("GPU-1", {"/dev/nvidia0"}, {{"uuid", "GPU-1"}}),
                       at("MIG-1", {"/dev/nvidia0"}, {{"uuid", "MIG-1"}, {"card", "GPU-1"}})}};
  CHECK(lists.see() == " | GPU-1 MIG-1");
}

TEST_CASE("devices are found in the other list by each mark of theirs alone") {
  const Attribute address{.name = "pci", .value = "0000:01:00.0"};
  Lists by_address{.plugin = {at("amy", {}, {address})}, .pool = {at("one", {}, {address}), at("two", {})}};
  CHECK(by_address.see() == "amy | one! two");
  Lists by_uuid{.plugin = {at("amy", {"/dev/a"}, {{"uuid", "GPU-1"}})},
                .pool = {at("one", {"/dev/b"}, {{"uuid", "GPU-1"}})}};
  CHECK(by_uuid.see() == "amy | one!");
  const Device card = at("GPU-1", {}, {{"uuid", "GPU-1"}});
  const Device part = at("MIG-1", {}, {{"uuid", "MIG-1"}, {"card", "GPU-1"}});
  Lists part_of_card{.plugin = {card}, .pool = {part}};
  CHECK(part_of_card.see() == "GPU-1 | MIG-1!");
  Lists card_of_part{.plugin = {part}, .pool = {card}};
  CHECK(card_of_part.see() == "MIG-1 | GPU-1!");
}

TEST_CASE("a node that more than 64 devices have does not say which of them one is") {
  Lists lists{.plugin = {at("amy", {"/dev/all"})}, .pool = {}};
  for (int n = 0; n < 63; ++n) lists.pool.push_back(at("usb" + std::to_string(n), {"/dev/all"}));
  CHECK(lists.see().starts_with("amy | usb0! "));
  lists.pool.push_back(at("usb63", {"/dev/all"}));
  CHECK(lists.see().starts_with("amy | usb0 "));
}

TEST_CASE("while no list is a pool nobody owns a device, and the places count again afterwards") {
  Lists lists{.plugin = {}, .pool = {at("usb1", {"/dev/a"})}};
  lists.see();
  lists.plugin = {at("amy", {"/dev/a"})};
  REQUIRE(lists.see() == "amy! | usb1");
  lists.pool_is_dra = false;
  CHECK(lists.see() == "amy | usb1");
  lists.pool_is_dra = true;
  CHECK(lists.see() == "amy | usb1!");
}

TEST_CASE("who is told first that has a device stays told, and who had it before is told beside") {
  OccupiedDevices occupied;
  occupied.add(kPlugin, "amy", "held by claim default/one");
  occupied.add(kPlugin, "amy", "held by claim default/two");
  std::vector<Device> devices{at("amy", {}), at("bob", {})};
  devices[0].taken_by = "held by pod default/old";
  occupied.apply(kPlugin, devices);
  CHECK(devices[0].taken_by == "held by claim default/one; and held by pod default/old");
  CHECK(devices[1].taken.empty());
  CHECK(occupied.concerns(kPlugin));
  CHECK_FALSE(occupied.concerns(kPool));
}

TEST_CASE("a claim's text has some of its pods") {
  CHECK(holder_text(claim_of("c", "", {})) == "held by claim default/c");
  CHECK(holder_text(claim_of("c", "", {{.uid = "", .name = "a"}, {.uid = "", .name = "b"}})) ==
        "held by claim default/c (pod default/a, default/b)");
  CHECK(holder_text(claim_of("c", "",
                             {{.uid = "", .name = "a"},
                              {.uid = "", .name = "b"},
                              {.uid = "", .name = "c"},
                              {.uid = "", .name = "d"}})) ==
        "held by claim default/c (pod default/a, default/b, default/c and 1 more)");
}

TEST_CASE("what claims hold is told by the ids of the lists, a share for each claim") {
  Device shared = at("amy", {"/dev/a"});
  shared.replicas = 2;
  const std::vector<Device> devices{shared, at("/dev/b", {"/dev/b"}), at("carl", {})};
  const std::vector<PreparedClaim> claims{
      claim_of("one", kPool + "=amy"),
      claim_of("two", kPool + "=amy", {{.uid = "", .name = "a"}, {.uid = "", .name = "b"}}),
      claim_of("three", kPool + "=amy"), claim_of("four", cdi_qualified_name(kPool, "/dev/b")),
      claim_of("five", kPlugin + "=carl")};
  std::vector<const PreparedClaim*> all;
  for (const PreparedClaim& claim : claims) all.push_back(&claim);
  const Holdings holdings = holdings_of(all, {{kPool, Inventory(devices)}});
  REQUIRE(holdings.size() == 1);
  const auto& held = holdings.at(kPool);
  REQUIRE(held.contains("amy::0"));
  CHECK(held.at("amy::0") == Holder{.pod_namespace = "default", .pod = "pod", .container = "claim one"});
  REQUIRE(held.contains("amy::1"));
  CHECK(held.at("amy::1") == Holder{.pod_namespace = "default", .pod = "a,b", .container = "claim two"});
  CHECK_FALSE(held.contains("carl"));
  CHECK(held.contains("/dev/b"));
  CHECK(held.size() == 3);
  CHECK(holdings_of({}, {{kPool, Inventory(devices)}}).empty());
}

}  // namespace
}  // namespace plughost
