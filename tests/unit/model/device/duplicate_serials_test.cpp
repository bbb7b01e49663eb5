#include "model/device/duplicate_serials.hpp"

#include <doctest/doctest.h>

#include "model/device/assembly.hpp"

namespace plughost {
namespace {

using Ids = std::vector<std::string>;

const std::string kSerial = "x.com/serial";

// Returns a USB stick with the serial number `name` at `port`.
Device stick(const std::string& name, const std::string& port) {
  Device device{.id = name,
                .nodes = {{.host_path = "/dev/" + port, .container_path = PositionText("/dev/tty")}}};
  device.attributes = {{.name = "name", .value = name}, {.name = "port", .value = port}};
  device.hardware.edit().ids.by_place = "usb-" + port;
  device.hardware.edit().at_place = {{.name = "name", .value = "usb-" + port}};
  return device;
}

// The listed devices of a resource, and the kubelet's records of what it has given.
struct Port {
  AllocationSpec spec{.name = Template(kSerial)};
  std::map<std::string, Inventory> listed = {};
  std::map<std::string, std::string> given = {};  // for an id, the node that was given under it
  std::map<std::string, GivenBy> by = {};         // for a node, how the record names it; absent: by its path
  std::vector<std::string> remarks = {};

  // Scans these sticks, and returns the listed ids and ports as "A@1". Devices that are gone stay in the list
  // for the next scan.
  Ids look(std::vector<Device> sticks) {
    Assembly assembly = assemble(
        spec, std::move(sticks), listed,
        [&](const std::string& resource, const std::string& id, const Device& device) {
          const auto found = given.find(id);
          const std::string& node = device.nodes.at(0).host_path;
          if (resource != kSerial || found == given.end() || found->second.find(node) == std::string::npos)
            return GivenBy::kNothing;
          return by.contains(node) ? by.at(node) : GivenBy::kPath;
        });
    remarks = assembly.remarks;
    std::vector<Device> now = assembly.resources.at(kSerial);
    Ids ids;
    for (const Device& each : now) {
      ids.push_back(each.id + '@' + *each.attribute("port"));
      CHECK(each.id.ends_with(*each.attribute("name")));
    }
    for (const Device& former : listed[kSerial].devices()) {
      if (!device_of_id(assembly.resources.at(kSerial), former.id)) now.push_back(former);
    }
    listed[kSerial] = Inventory(now);
    return ids;
  }
};

TEST_CASE("a stick is identified by its serial number, at any port") {
  Port port;
  CHECK(port.look({stick("A", "1")}) == Ids{"A@1"});
  CHECK(port.look({}) == Ids{});
  CHECK(port.look({stick("A", "2")}) == Ids{"A@2"});
  CHECK(port.remarks.empty());
}

TEST_CASE("the first device keeps its id, and a later duplicate is identified by its port") {
  Port port;
  CHECK(port.look({stick("A", "2")}) == Ids{"A@2"});
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
  CHECK(port.remarks == Ids{"\"usb-1\" is listed by its port: another device has the same "
                            "serial number, that of \"A\""});
  CHECK(port.look({stick("A", "1")}) == Ids{"usb-1@1"});  // the first stick is unplugged
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
  CHECK(port.look({stick("A", "2"), stick("A", "3")}) == Ids{"A@2", "usb-3@3"});  // the second moves
}

TEST_CASE("duplicates that appear together are both identified by their ports, and stay so") {
  Port port;
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"usb-1@1", "usb-2@2"});
  CHECK(port.look({stick("A", "2")}) == Ids{"usb-2@2"});
}

TEST_CASE("a stick whose serial number two absent sticks had is identified by its port") {
  Port port;
  port.look({stick("A", "1")});
  port.look({stick("A", "1"), stick("A", "2")});
  port.look({});
  CHECK(port.look({stick("A", "3")}) == Ids{"usb-3@3"});
}

TEST_CASE(
    "a stick with its own serial number at the port of an absent duplicate is identified by its serial "
    "number") {
  Port port;
  port.look({stick("A", "1"), stick("A", "2")});
  CHECK(port.look({stick("B", "1"), stick("A", "2")}) == Ids{"B@1", "usb-2@2"});
}

TEST_CASE("after a restart a stick has the id under which a container was given it") {
  Port port;
  SUBCASE("which is its serial number") {
    port.given = {{"A", "/dev/2"}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
  }
  SUBCASE("which is its port, although its duplicate is absent") {
    port.given = {{"usb-2", "/dev/2"}};
    CHECK(port.look({stick("A", "2")}) == Ids{"usb-2@2"});
  }
  SUBCASE("for both sticks") {
    port.given = {{"A", "/dev/1"}, {"usb-2", "/dev/2"}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@1", "usb-2@2"});
  }
  SUBCASE(
      "where a record of the path has priority over one of the name in the container, and this over one of a "
      "link") {
    port.given = {{"A", "/dev/1 /dev/2"}};
    port.by = {{"/dev/1", GivenBy::kLink}, {"/dev/2", GivenBy::kName}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
    port.listed.clear();
    port.by = {{"/dev/1", GivenBy::kName}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
    port.listed.clear();
    port.by = {{"/dev/2", GivenBy::kLink}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@1", "usb-2@2"});
  }
  SUBCASE("and no id is given to two sticks") {
    port.given = {{"A", "/dev/1"}};
    CHECK(port.look({stick("A", "1")}) == Ids{"A@1"});
    port.given = {{"A", "/dev/2"}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@1", "usb-2@2"});
  }
}

TEST_CASE("an entry's `id` template is applied to the id by serial number and the id by port") {
  Port port;
  port.look({stick("A", "1")});
  port.spec.id = Template("tty-{name}");
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"tty-usb-1@1", "tty-usb-2@2"});
  port.listed.clear();
  CHECK(port.look({stick("A", "1")}) == Ids{"tty-A@1"});
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"tty-A@1", "tty-usb-2@2"});
}

TEST_CASE("if the `id` template has no attribute, both sticks get the same id, and the second is left out") {
  Port port{.spec = {.name = Template(kSerial), .id = Template("the-stick")}};
  const Assembly assembly = assemble(port.spec, {stick("A", "1"), stick("A", "2")});
  CHECK(assembly.resources.at(kSerial).size() == 1);
  CHECK(assembly.remarks.at(0).find("a second device with the id") != std::string::npos);
}

}  // namespace
}  // namespace plughost
