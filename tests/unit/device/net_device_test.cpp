#include "device/net_device.hpp"

#include <doctest/doctest.h>

#include "device/cdi.hpp"

namespace plughost {
namespace {

const std::string kUplink = "example.com/uplink";

Device uplink() {
  Device device;
  device.id = "02:00:00:00:00:01";
  device.numa_nodes = {0, 1};
  device.nodes = {{.host_path = "/dev/tap7", .container_path = "/dev/tap{{7}}", .permissions = "r"}};
  device.attributes = {{"name", "eth1"}, {"mac", "02:00:00:00:00:01"}, {"driver", ""}};
  return device;
}

Recipe recipe_of_uplinks() {
  Recipe recipe;
  recipe.name = Template(kUplink);
  recipe.cdi = CdiNames::kCri;
  recipe.net_devices = {{.host_name = Template("{name}"), .name = Template("net1")}};
  return recipe;
}

TEST_CASE("names that the kernel takes for an interface, and those that it does not") {
  for (const char* name : {"e", "eth1", "enp3s0f0np0", "eth%d", "123456789012345"}) {
    CAPTURE(name);
    CHECK(interface_name_trouble(name).empty());
  }
  for (const char* name : {"", ".", "..", "a/b", "a:1", "a b", "a\tb", "a\x7f", "1234567890123456"}) {
    CAPTURE(name);
    CHECK_FALSE(interface_name_trouble(name).empty());
  }
  CHECK(interface_name_trouble("a b") ==
        "\"a b\" cannot be a network interface's name, which has at most 15 bytes, without blanks, '/' and "
        "':'");
}

TEST_CASE("a device lacks its interface if an attribute that names it is empty") {
  const Recipe recipe = recipe_of_uplinks();
  Device device = uplink();
  CHECK_FALSE(lacks_interface(recipe, device));
  device.attributes[0].value.clear();
  CHECK(lacks_interface(recipe, device));
  CHECK_FALSE(lacks_interface(Recipe(), device));
  Recipe fixed;
  fixed.net_devices = {{.host_name = Template("eth1"), .name = Template("{name}")}};
  CHECK_FALSE(lacks_interface(fixed, device));
}

TEST_CASE("what is known of a device comes back from its specification") {
  Device other = uplink();
  other.id = "b";
  other.numa_nodes.clear();
  other.nodes.clear();
  const Inventory inventory({uplink(), other});
  const NotedDevices noted = noted_devices(cdi_specification(kUplink, recipe_of_uplinks(), inventory));
  CHECK(noted.resource == kUplink);
  REQUIRE(noted.devices.size() == 2);
  CHECK(noted.devices == std::vector<Device>{uplink(), other});
}

TEST_CASE("a device that is away is noted like any other, and one that is gone is not") {
  Device device = uplink();
  device.away = true;
  const auto noted = [&] {
    return noted_devices(cdi_specification(kUplink, recipe_of_uplinks(), Inventory({device}))).devices;
  };
  CHECK(noted() == std::vector{uplink()});
  device.gone = true;
  CHECK(noted().empty());
}

TEST_CASE("nothing is noted of devices whose interfaces stay, nor in what is no specification") {
  Recipe recipe = recipe_of_uplinks();
  recipe.net_devices.clear();
  const std::string text = cdi_specification(kUplink, recipe, Inventory({uplink()}));
  CHECK(text.find("annotations") == std::string::npos);
  CHECK(text.find("0.5.0") != std::string::npos);
  CHECK(noted_devices(text).devices.empty());
  const std::string whole = cdi_specification(kUplink, recipe_of_uplinks(), Inventory({uplink()}));
  CHECK(noted_devices("").devices.empty());
  CHECK(noted_devices("[]").devices.empty());
  CHECK(noted_devices(whole.substr(0, whole.size() / 2)).devices.empty());
  const auto note = [](const char* value) {
    return noted_devices(
               std::string(R"({"kind": "a/b", "devices": [{"annotations": {"plughost.io/device": ")") +
               value + "\"}}]}")
        .devices;
  };
  CHECK(note("{}").empty());
  CHECK(note("no JSON").empty());
  CHECK(note(R"({\"id\": \"a\"})") == std::vector{Device{.id = "a"}});
  CHECK(note(R"({\"id\": \"a\", \"numa\": [-1, 2, 4294967296]})").at(0).numa_nodes == std::vector{2});
}

TEST_CASE("a device belongs to the resource that its entry makes of it") {
  Recipe recipe = recipe_of_uplinks();
  CHECK(belongs_to(recipe, uplink(), kUplink));
  CHECK_FALSE(belongs_to(recipe, uplink(), "example.com/other"));
  recipe.name = Template("example.com/{name}");
  CHECK(belongs_to(recipe, uplink(), "example.com/eth1"));
  recipe.name = Template("example.com/{port}");
  CHECK_FALSE(belongs_to(recipe, uplink(), "example.com/"));
}

}  // namespace
}  // namespace plughost
