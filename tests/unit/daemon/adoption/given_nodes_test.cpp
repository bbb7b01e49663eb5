#include "daemon/adoption/given_nodes.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

Device device_at(const std::string& id, const Texts& nodes, const std::string& unit = {}) {
  Device device{.id = id};
  for (const std::string& node : nodes)
    device.nodes.push_back({.host_path = node, .container_path = PositionText(node)});
  if (!unit.empty()) device.hardware.edit().units = {unit};
  return device;
}

// A machine's links and hardware, and the settings of an entry.
struct Machine {
  std::map<std::string, std::string> links = {};
  std::map<std::string, std::string> units = {};  // hardware by node; "all" if every program opens the node
  AllocationSpec spec = {};

  Drift drift(const Texts& given, const std::vector<Device>& devices) const {
    const Paths paths{.leads_to =
                          [this](const std::string& path) {
                            const auto link = links.find(path);
                            return link == links.end() ? path : link->second;
                          },
                      .unit_of = [this](const std::string& path) -> std::optional<std::string> {
                        const auto unit = units.find(path);
                        if (unit == units.end()) return "";
                        return unit->second == "all" ? std::nullopt : std::optional(unit->second);
                      }};
    Allocation answer;
    for (const std::string& path : given) answer.nodes.push_back({.host_path = path, .container_path = path});
    std::vector<const Device*> its;
    for (const Device& device : devices) its.push_back(&device);
    return drift_of("x.com/a", spec, answer, its, paths);
  }
};

const Texts kNone;

}  // namespace

TEST_CASE("drift: a given node that leads to the device's node belongs to the device, under any name") {
  const Machine machine{.links = {{"/dev/by-id", "/dev/tty1"}, {"/dev/by-path", "/dev/tty1"}}};
  for (const char* given : {"/dev/tty1", "/dev/by-id", "/dev/by-path"}) {
    for (const char* now : {"/dev/tty1", "/dev/by-id"}) {
      CHECK(machine.drift({given}, {device_at("a", {now})}).lost == kNone);
      CHECK(machine.drift({given}, {device_at("a", {now})}).moved.empty());
    }
  }
}

TEST_CASE(
    "drift: a device has moved if it has a new node, and the given node is gone or a different device's") {
  Machine machine;
  Drift drift = machine.drift({"/dev/tty0"}, {device_at("a", {"/dev/tty1"}, "/sys/1")});
  CHECK(drift.lost == Texts{"/dev/tty0"});
  CHECK(drift.units == kNone);
  CHECK(drift.moved == std::map<std::string, std::string>{{"a", "/dev/tty1"}});
  machine.units = {{"/dev/tty0", "/sys/2"}, {"/dev/tty1", "/sys/1"}};
  drift = machine.drift({"/dev/tty0"}, {device_at("a", {"/dev/tty1"}, "/sys/1")});
  CHECK(drift.units == Texts{"/sys/2"});
  CHECK(drift.moved.size() == 1);
  machine.links = {{"/dev/by-id", "/dev/tty0"}};  // the link leads to a duplicate now
  CHECK(machine.drift({"/dev/by-id"}, {device_at("a", {"/dev/tty1"}, "/sys/1")}).moved.size() == 1);
}

TEST_CASE("drift: a given node of a device's hardware is the device's, even if a different node is listed") {
  const Machine machine{
      .units = {{"/dev/bus", "/sys/1"}, {"/dev/tty0", "/sys/1/tty"}, {"/dev/tty9", "/sys/12"}}};
  CHECK(machine.drift({"/dev/bus"}, {device_at("a", {"/dev/tty0"}, "/sys/1")}).lost == kNone);
  CHECK(machine.drift({"/dev/tty0"}, {device_at("a", {"/dev/bus"}, "/sys/1")}).lost == kNone);
  CHECK(machine.drift({"/dev/tty9"}, {device_at("a", {"/dev/bus"}, "/sys/1")}).lost == Texts{"/dev/tty9"});
}

TEST_CASE("drift: nodes that come with every device, or that every program opens, identify none") {
  Machine machine{.units = {{"/dev/ctl", "all"}, {"/dev/tools", "all"}, {"/dev/common", "/sys/9"}}};
  machine.spec.nodes = {{.host_path = Template("/dev/common"), .container_path = Template("/dev/common")}};
  CHECK(
      machine.drift({"/dev/0", "/dev/ctl", "/dev/common"}, {device_at("a", {"/dev/0", "/dev/tools"})}).lost ==
      kNone);
  const Drift drift = machine.drift({"/dev/0", "/dev/gone"}, {device_at("a", {"/dev/0", "/dev/tools"})});
  CHECK(drift.lost == Texts{"/dev/gone"});
  CHECK(drift.moved.empty());
}

TEST_CASE(
    "drift: a device that has lost a node has not moved if the container has one of its present nodes") {
  const Machine machine{.units = {{"/dev/video0", "/sys/v"}}};
  const Drift drift = machine.drift({"/dev/tty0", "/dev/video0"}, {device_at("a", {"/dev/tty0"}, "/sys/t")});
  CHECK(drift.lost == Texts{"/dev/video0"});
  CHECK(drift.units == Texts{"/sys/v"});
  CHECK(drift.moved.empty());
}

TEST_CASE("drift: of a container's devices, only those have moved whose nodes the container lacks") {
  Machine machine;
  const std::vector<Device> swapped{device_at("a", {"/dev/1"}), device_at("b", {"/dev/0"})};
  CHECK(machine.drift({"/dev/0", "/dev/1"}, swapped).moved.empty());
  const Drift drift =
      machine.drift({"/dev/0", "/dev/1"}, {device_at("a", {"/dev/0"}), device_at("b", {"/dev/2"})});
  CHECK(drift.lost == Texts{"/dev/1"});
  CHECK(drift.moved == std::map<std::string, std::string>{{"b", "/dev/2"}});
}

TEST_CASE("drift: a sick or drained device is compared like a healthy one") {
  Machine machine;
  machine.spec.nodes = {{.host_path = Template("/dev/c-{id}"), .container_path = Template("/dev/c")}};
  Device device = device_at("a", {"/dev/0"});
  device.error = "sick";
  device.reasons = {Reason::drain("the fan")};
  CHECK(machine.drift({"/dev/0", "/dev/c-a"}, {device}).lost == kNone);
}

TEST_CASE("a device has moved if its nodes or its hardware differ, whatever the order of the nodes") {
  const Device before = device_at("a", {"/dev/0", "/dev/1"}, "/sys/1");
  CHECK_FALSE(is_elsewhere(before, before));
  CHECK_FALSE(is_elsewhere(before, device_at("a", {"/dev/1", "/dev/0"}, "/sys/1")));
  CHECK(is_elsewhere(before, device_at("a", {"/dev/0", "/dev/2"}, "/sys/1")));
  CHECK(is_elsewhere(before, device_at("a", {"/dev/0"}, "/sys/1")));
  CHECK(is_elsewhere(before, device_at("a", {"/dev/0", "/dev/1"}, "/sys/2")));
}

TEST_CASE("drift: a response without nodes is no evidence that a device has moved") {
  CHECK(Machine().drift({}, {device_at("a", {"/dev/0"})}).moved.empty());
}

}  // namespace plughost
