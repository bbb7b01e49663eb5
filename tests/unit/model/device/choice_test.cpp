#include "model/device/allocation_spec.hpp"

#include <doctest/doctest.h>

#include "model/device/assembly.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;
using Attributes = std::map<std::string, Texts>;

Device card(std::string id, const std::string& name, const std::string& pci) {
  Device made;
  made.id = std::move(id);
  made.attributes = {{"name", name}, {"pci", pci}, {"serial", ""}};
  return made;
}

std::vector<Device> cards() {
  return {card("GPU-a", "NVIDIA A100-SXM4-40GB", "0000:3b:00.0"), card("GPU-b", "Tesla T4", "0000:86:00.0"),
          card("GPU-c", "NVIDIA A100-SXM4-80GB", "0000:af:00.0")};
}

std::vector<DevicePattern> patterns(const std::vector<Attributes>& all) {
  std::vector<DevicePattern> made;
  for (const Attributes& each : all)
    made.push_back({.attributes = each, .where = std::to_string(made.size())});
  return made;
}

// Returns the ids of the cards that `only` and `except` select.
Texts chosen(const std::vector<Attributes>& only, const std::vector<Attributes>& except) {
  std::vector<Device> devices = cards();
  choose({.only = patterns(only), .except = patterns(except)}, devices);
  Texts ids;
  for (const Device& device : devices) ids.push_back(device.id);
  return ids;
}

Texts unmatched(const std::vector<Attributes>& only, const std::vector<Attributes>& except) {
  std::vector<Device> devices = cards();
  return choose({.only = patterns(only), .except = patterns(except)}, devices).unmatched;
}

TEST_CASE("without `only` and `except` all devices are selected") {
  CHECK(chosen({}, {}) == Texts{"GPU-a", "GPU-b", "GPU-c"});
  CHECK(unmatched({}, {}).empty());
}

TEST_CASE("`only` selects the devices that match one of its patterns") {
  CHECK(chosen({{{"name", {"*A100*"}}}}, {}) == Texts{"GPU-a", "GPU-c"});
  CHECK(chosen({{{"id", {"GPU-b"}}}, {{"pci", {"*:af:*"}}}}, {}) == Texts{"GPU-b", "GPU-c"});
}

TEST_CASE("a device has to match all attributes of a pattern, by one value of each") {
  CHECK(chosen({{{"name", {"*A100*"}}, {"pci", {"0000:3b:*"}}}}, {}) == Texts{"GPU-a"});
  CHECK(chosen({{{"name", {"Tesla*"}}, {"pci", {"0000:3b:*"}}}}, {}).empty());
  CHECK(chosen({{{"id", {"GPU-a", "GPU-b"}}, {"pci", {"0000:3b:*", "0000:86:*"}}}}, {}) ==
        Texts{"GPU-a", "GPU-b"});
}

TEST_CASE("a pattern matches a whole value, with its case") {
  CHECK(chosen({{{"name", {"A100", "Tesla", "T4*"}}}}, {}).empty());
  CHECK(chosen({{{"name", {"tesla*"}}}}, {}).empty());
  CHECK(chosen({{{"name", {"Tesla T?"}}}}, {}) == Texts{"GPU-b"});
  CHECK(chosen({{{"pci", {"0000:[38]?:00.0"}}}}, {}) == Texts{"GPU-a", "GPU-b"});
}

TEST_CASE("a value with wildcard characters matches itself, literally or escaped") {
  std::vector<Device> disks = {card("disk[1]", "", ""), card("disk1", "", "")};
  choose({.only = patterns({{{"id", {"disk[1]"}}}}), .except = {}}, disks);
  CHECK(disks.size() == 2);
  std::vector<Device> quoted = {card("a[", "", "")};
  choose({.only = patterns({{{"id", {"a\\["}}}}), .except = {}}, quoted);
  CHECK(quoted.size() == 1);
}

TEST_CASE("`except` leaves out its matches, whatever `only` has") {
  CHECK(chosen({}, {{{"pci", {"0000:3b:00.0"}}}}) == Texts{"GPU-b", "GPU-c"});
  CHECK(chosen({{{"name", {"*A100*"}}}}, {{{"id", {"GPU-c"}}}}) == Texts{"GPU-a"});
  CHECK(chosen({{{"id", {"GPU-a"}}}}, {{{"id", {"*"}}}}).empty());
  CHECK(chosen({}, {{{"id", {"GPU-a"}}}, {{"id", {"GPU-b"}}}}) == Texts{"GPU-c"});
}

TEST_CASE("a missing or empty value matches nothing") {
  CHECK(chosen({{{"serial", {"*"}}}}, {}).empty());
  CHECK(chosen({{{"uuid", {"*"}}}}, {}).empty());
  CHECK(chosen({}, {{{"serial", {"*"}}}, {{"uuid", {"*"}}}}) == Texts{"GPU-a", "GPU-b", "GPU-c"});
}

TEST_CASE("a device with two ids is matched by both, and by both of its names") {
  Device stick = card("0403:6001:A1", "0403:6001:A1", "");
  stick.hardware.edit().ids.by_place = "usb-1-2";
  stick.hardware.edit().at_place = {{"name", "usb-1-2"}};
  const auto takes = [&](const std::string& attribute, const std::string& pattern) {
    std::vector<Device> devices{stick};
    choose({.only = patterns({{{attribute, {pattern}}}}), .except = {}}, devices);
    return !devices.empty();
  };
  for (const char* attribute : {"id", "name"}) {
    CHECK(takes(attribute, "0403:*"));
    CHECK(takes(attribute, "usb-1-2"));
    CHECK_FALSE(takes(attribute, "usb-1-3"));
  }
  CHECK_FALSE(takes("serial", "usb-1-2"));
}

TEST_CASE("an item that matches no device is reported with its place") {
  CHECK(unmatched({{{"serial", {"*"}}}}, {}) == Texts{"0"});
  CHECK(unmatched({{{"name", {"*"}}}, {{"name", {"H100"}}}}, {{{"id", {"GPU-b"}}}, {{"id", {"GPU-x"}}}}) ==
        Texts{"1", "1"});
  // Matching devices that `except` leaves out count as matches.
  CHECK(unmatched({{{"id", {"GPU-a"}}}}, {{{"id", {"GPU-b"}}}}).empty());
}

TEST_CASE("of a list of interfaces a pattern may match one item, but other values only as a whole") {
  Device switched = card("a", "x,y", "0000:03:00.0");
  switched.attributes.push_back({"pfName", "ens1f0,ens1f1"});
  const auto takes = [&](const char* attribute, const char* pattern) {
    return DevicePattern{.attributes = {{attribute, {pattern}}}, .where = {}}.matches(switched);
  };
  for (const char* pattern : {"ens1f0", "ens1f1", "*f1", "ens1f0,ens1f1"}) CHECK(takes("pfName", pattern));
  CHECK_FALSE(takes("pfName", "ens1"));
  CHECK_FALSE(takes("name", "x"));
}

TEST_CASE(
    "a device that has devices behind it is selected only if `only` names it, or if those are not in the "
    "list") {
  const auto left = [](const std::vector<Attributes>& only, const std::vector<Attributes>& except) {
    std::vector<Device> devices = cards();
    devices[1].if_named = true;
    const Chosen chosen = choose({.only = patterns(only), .except = patterns(except)}, devices);
    return std::pair(devices.size(), chosen.not_named);
  };
  CHECK(left({}, {}) == std::pair(2UL, Texts{"GPU-b"}));
  CHECK(left({}, {{{"id", {"GPU-a"}}}}) == std::pair(1UL, Texts{"GPU-b"}));
  CHECK(left({{{"id", {"GPU-b"}}}}, {}) == std::pair(1UL, Texts{}));
  CHECK(left({{{"id", {"GPU-a"}}}}, {}) == std::pair(1UL, Texts{}));
  CHECK(left({}, {{{"physfn", {"*"}}}}) == std::pair(3UL, Texts{}));
  CHECK(left({}, {{{"id", {"GPU-b"}}}}) == std::pair(2UL, Texts{}));
}

ReplicaRule rule(const std::vector<Attributes>& devices, unsigned replicas, std::string where) {
  return {.devices = patterns(devices), .replicas = replicas, .where = std::move(where)};
}

TEST_CASE("the first matching rule of replicas counts, and otherwise the default") {
  AllocationSpec spec;
  spec.name = Template("example.com/x");
  spec.replicas = 3;
  spec.replicas_of = {rule({{{"name", {"*80GB"}}}, {{"id", {"GPU-x"}}}}, 5, "a"),
                      rule({{{"name", {"*A100*"}}}}, 4, "b"), rule({{{"name", {"*H100*"}}}}, 9, "c")};
  const Assembly assembly = assemble(spec, cards());
  std::vector<unsigned> replicas;
  for (const Device& device : assembly.resources.at("example.com/x")) replicas.push_back(device.replicas);
  CHECK(replicas == std::vector<unsigned>{4, 3, 5});
  CHECK(assembly.unmatched == Texts{"c"});
}

}  // namespace
}  // namespace plughost
