#include "model/device/duplicate_serials.hpp"

#include <doctest/doctest.h>

#include "model/device/assembly.hpp"

namespace plughost {
namespace {

using Ids = std::vector<std::string>;

const std::string kSerial = "x.com/serial";

// Returns a USB device that identifies itself as `name`.
Device stick(const std::string& name, const std::string& port) {
  Device device{.id = name,
                .nodes = {{.host_path = "/dev/" + port, .container_path = PositionText("/dev/tty")}}};
  device.attributes = {{.name = "name", .value = name}, {.name = "port", .value = port}};
  device.hardware.edit().ids.by_place = "usb-" + port;
  device.hardware.edit().at_place = {{.name = "name", .value = "usb-" + port}};
  return device;
}

// The listed devices, and the kubelet's records.
struct Port {
  AllocationSpec spec{.name = Template(kSerial)};
  std::map<std::string, Inventory> listed = {};
  std::map<std::string, std::string> given = {};  // node by id
  std::map<std::string, GivenBy> by = {};         // by node; absent: by its path
  std::vector<std::string> remarks = {};

  // Returns "A@1": the listed ids and ports. Devices that have gone stay in the list.
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

TEST_CASE("a stick is identified by its name, wherever it is plugged in") {
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
  CHECK(port.look({stick("A", "1")}) == Ids{"usb-1@1"});  // the other one goes
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
  CHECK(port.look({stick("A", "2"), stick("A", "3")}) == Ids{"A@2", "usb-3@3"});  // the duplicate moves
}

TEST_CASE("duplicates that appear together are both identified by their ports, and stay so") {
  Port port;
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"usb-1@1", "usb-2@2"});
  CHECK(port.look({stick("A", "2")}) == Ids{"usb-2@2"});
}

TEST_CASE("a stick that may be either of two absent ones is identified by its port") {
  Port port;
  port.look({stick("A", "1")});
  port.look({stick("A", "1"), stick("A", "2")});
  port.look({});
  CHECK(port.look({stick("A", "3")}) == Ids{"usb-3@3"});
}

TEST_CASE("another stick at the port of one that is identified by it has its own name") {
  Port port;
  port.look({stick("A", "1"), stick("A", "2")});
  CHECK(port.look({stick("B", "1"), stick("A", "2")}) == Ids{"B@1", "usb-2@2"});
}

TEST_CASE("after a restart a stick has the id under which a container was given it") {
  Port port;
  SUBCASE("by its name") {
    port.given = {{"A", "/dev/2"}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@2", "usb-1@1"});
  }
  SUBCASE("by its place, and its duplicate is away") {
    port.given = {{"usb-2", "/dev/2"}};
    CHECK(port.look({stick("A", "2")}) == Ids{"usb-2@2"});
  }
  SUBCASE("each by its own") {
    port.given = {{"A", "/dev/1"}, {"usb-2", "/dev/2"}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@1", "usb-2@2"});
  }
  SUBCASE("that of its path before that of its name in the container, and that before that of a link") {
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
  SUBCASE("one name is nobody's twice") {
    port.given = {{"A", "/dev/1"}};
    CHECK(port.look({stick("A", "1")}) == Ids{"A@1"});
    port.given = {{"A", "/dev/2"}};
    CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"A@1", "usb-2@2"});
  }
}

TEST_CASE("an entry's `id` template is applied to both ids") {
  Port port;
  port.look({stick("A", "1")});
  port.spec.id = Template("tty-{name}");
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"tty-usb-1@1", "tty-usb-2@2"});
  port.listed.clear();
  CHECK(port.look({stick("A", "1")}) == Ids{"tty-A@1"});
  CHECK(port.look({stick("A", "1"), stick("A", "2")}) == Ids{"tty-A@1", "tty-usb-2@2"});
}

TEST_CASE("an id that is not made of a name is the same for both, and the second device is left out") {
  Port port{.spec = {.name = Template(kSerial), .id = Template("the-stick")}};
  const Assembly assembly = assemble(port.spec, {stick("A", "1"), stick("A", "2")});
  CHECK(assembly.resources.at(kSerial).size() == 1);
  CHECK(assembly.remarks.at(0).find("a second device with the id") != std::string::npos);
}

}  // namespace
}  // namespace plughost
