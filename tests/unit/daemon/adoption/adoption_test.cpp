#include "daemon/adoption/adoption.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/resource_names.hpp"

namespace plughost {
namespace {

using test::kA;

Device at(const std::string& id, const std::vector<std::string>& nodes, unsigned replicas = 1) {
  Device device{.id = id, .replicas = replicas};
  for (const std::string& node : nodes)
    device.nodes.push_back({.host_path = node, .container_path = PositionText(node)});
  return device;
}

Allocation with_nodes(const std::vector<std::string>& paths) {
  Allocation given;
  for (const std::string& path : paths) given.nodes.push_back({.host_path = path, .container_path = path});
  return given;
}

IdsPointer id_list(std::vector<std::string_view> of) { return std::make_shared<const IdList>(std::move(of)); }

std::set<std::string> own(const Adoption& found) {
  return found.own ? std::set<std::string>(found.own->begin(), found.own->end()) : std::set<std::string>();
}

// A machine with one resource, and a checkpoint.
struct Node {
  AllocationSpec spec;
  std::vector<Device> devices;
  std::map<std::string, Inventory> listed;
  HeldIds held;
  std::map<std::string, std::string> links;
  Checkpoint checkpoint;

  // Adds a container to the checkpoint. The n-th container belongs to pod "u<n>".
  void hold(std::vector<std::string> ids, std::optional<Allocation> given, const std::string& resource = kA) {
    const std::string pod = "u" + std::to_string(checkpoint.pod_devices.size());
    checkpoint.pod_devices.push_back({pod, "main", resource, {{-1, std::move(ids)}}, std::move(given)});
  }
  Paths paths() const {
    return {.leads_to =
                [this](const std::string& path) {
                  const auto link = links.find(path);
                  return link == links.end() ? path : link->second;
                },
            .unit_of = [](const std::string& path) { return "/sys" + path; }};
  }
  Adoption look() {
    held.checkpoint = std::make_shared<const Checkpoint>(checkpoint);
    sort_by_id(devices);
    auto all = adopt(spec, {{kA, devices}}, listed, held, paths());
    CHECK(all.size() <= 1);
    return all[kA];
  }
  // Returns the devices and the ids by which they are held, such as "amy<X bob<Y,Z".
  std::string adopted() {
    std::string text;
    for (const auto& [device, holders] : look().devices) {
      text += (text.empty() ? "" : " ") + device;
      for (std::size_t i = 0; i < holders.size(); ++i) text += (i == 0 ? '<' : ',') + holders[i].id;
    }
    return text;
  }
};

TEST_CASE("without a checkpoint, or without holders, nothing is adopted") {
  CHECK(adopt({}, {{kA, {at("amy", {"/dev/amy"})}}}, {}, {}, {}).empty());
  Node node{.devices = {at("amy", {"/dev/amy"})}};
  CHECK(node.adopted().empty());
}

TEST_CASE(
    "a device is held by another plugin's id if the container has the device's node, mount or CDI name") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  SUBCASE("the container has the device's node") { node.hold({"X"}, with_nodes({"/dev/bob"})); }
  SUBCASE("the container has the device's mount as a node") {
    node.devices[1].nodes.clear();
    node.devices[1].mounts = {{.host_path = "/dev/bob", .container_path = PositionText("/b")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("the container has the device's node as a mount") {
    Allocation given;
    given.mounts = {{.host_path = "/dev/bob", .container_path = "/b"}};
    node.hold({"X"}, given);
  }
  SUBCASE("the container has the device's CDI name") {
    auto names = std::make_shared<KindSpec>();
    names->cdi = {Template("v.com/c={id}")};
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
      device.spec = names;
    }
    Allocation given;
    given.cdi = {"v.com/c=bob"};
    node.hold({"X"}, given);
  }
  SUBCASE("the node is one that the entry adds to each device") {
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
    }
    node.spec.nodes = {{.host_path = Template("/dev/{id}"), .container_path = Template("/dev/{id}")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("plughost gives the node in its own CDI specification") {
    node.spec.cdi = CdiNames::kCri;
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("plughost gives the mount in its own CDI specification") {
    node.devices[1].nodes.clear();
    node.devices[1].mounts = {{.host_path = "/dev/bob", .container_path = PositionText("/b")}};
    node.spec.cdi = CdiNames::kCri;
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("the device is sick") {
    node.devices[1].error = "sick";
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("the device is sick, and its node is one that the entry adds to each device") {
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
    }
    node.spec.nodes = {{.host_path = Template("/dev/{id}"), .container_path = Template("/dev/{id}")}};
    node.devices[1].error = "sick";
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("no response can be made for the device, because a placeholder has no value") {
    node.spec.env = {{Template("E"), Template("{missing}")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  CHECK(node.adopted() == "bob<X");
  const Adoption found = node.look();
  CHECK(found.devices.at("bob").at(0) == FormerId{.id = "X", .pod_uid = "u0", .container = "main"});
  CHECK(found.strangers.empty());
  CHECK(own(found).empty());
}

TEST_CASE("a device is recognised if it has a link and the container has the link's target, or the reverse") {
  Node node{.devices = {at("amy", {"/dev/ttyUSB0"}), at("bob", {"/dev/serial/by-id/bob"})}};
  node.links = {{"/dev/serial/by-id/amy", "/dev/ttyUSB0"}, {"/dev/serial/by-id/bob", "/dev/ttyUSB1"}};
  node.hold({"X"}, with_nodes({"/dev/serial/by-id/amy"}));
  node.hold({"Y"}, with_nodes({"/dev/ttyUSB1"}));
  CHECK(node.adopted() == "amy<X bob<Y");
}

TEST_CASE("a node that several devices have identifies none") {
  Node node{.devices = {at("0", {"/dev/ctl", "/dev/card0"}), at("1", {"/dev/ctl", "/dev/card1"})}};
  node.hold({"X"}, with_nodes({"/dev/ctl", "/dev/card1"}));
  node.hold({"Y"}, with_nodes({"/dev/ctl", "/dev/card7"}));
  CHECK(node.adopted() == "1<X");
  const Adoption found = node.look();
  REQUIRE(found.strangers.size() == 1);
  CHECK(found.strangers[0].id == "Y");
}

TEST_CASE("an id that the resource lists, or has listed, is the resource's own and is not adopted") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  node.hold({"amy"}, with_nodes({"/dev/bob"}));
  Device gone = at("eve", {"/dev/bob"});
  gone.gone = true;
  gone.error = "gone";
  node.listed = {{kA, Inventory({gone})}};
  node.held.own = {{kA, id_list({"zoe"})}, {"x.com/b", id_list({"X"})}};
  node.hold({"eve"}, with_nodes({"/dev/bob"}));
  node.hold({"zoe"}, with_nodes({"/dev/bob"}));
  CHECK(node.adopted().empty());
  CHECK(own(node.look()) == std::set<std::string>{"amy", "eve", "zoe"});
  CHECK(node.look().used.at("amy") == std::vector<unsigned>{0});
  node.hold({"X"}, with_nodes({"/dev/bob"}));
  CHECK(node.adopted() == "bob<X");
}

TEST_CASE("ids that a container holds of a different resource are ignored") {
  Node node{.devices = {at("amy", {"/dev/amy"})}};
  node.hold({"X"}, with_nodes({"/dev/amy"}), "x.com/b");
  CHECK(node.adopted().empty());
}

TEST_CASE("a device that is held by its listed id is not also reserved for another plugin's id") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  node.hold({"X"}, with_nodes({"/dev/amy"}));
  node.hold({"amy"}, with_nodes({"/dev/amy"}));
  CHECK(node.adopted().empty());
  CHECK(node.look().strangers.empty());
}

TEST_CASE("each id of another plugin holds one share of a device until its listed ids use all shares") {
  Node node{.devices = {at("gpu", {"/dev/gpu"}, 3)}};
  node.hold({"X"}, with_nodes({"/dev/gpu"}));
  CHECK(node.adopted() == "gpu<X");
  node.hold({"Y", "Z"}, with_nodes({"/dev/gpu"}));
  CHECK(node.adopted() == "gpu<X,Y,Z");
  node.hold({"gpu::2"}, with_nodes({"/dev/gpu"}));
  CHECK(node.look().used.at("gpu") == std::vector<unsigned>{2});
  CHECK(node.adopted() == "gpu<X,Y,Z");
  node.hold({"gpu::0"}, with_nodes({"/dev/gpu"}));
  CHECK(node.look().used.at("gpu") == std::vector<unsigned>{0, 2});
  CHECK(node.adopted() == "gpu<X,Y,Z");
  node.hold({"gpu::1"}, with_nodes({"/dev/gpu"}));
  CHECK(node.adopted().empty());
}

TEST_CASE("one id for several devices holds all of them, and each of several ids holds a device") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"}), at("eve", {"/dev/eve"})}};
  SUBCASE("one id for two devices") {
    node.hold({"X"}, with_nodes({"/dev/amy", "/dev/eve"}));
    CHECK(node.adopted() == "amy<X eve<X");
  }
  SUBCASE("two ids for two devices") {
    node.hold({"X", "Y"}, with_nodes({"/dev/amy", "/dev/eve"}));
    CHECK(node.adopted() == "amy<X eve<Y");
  }
  SUBCASE("three ids for two devices") {
    node.hold({"X", "Y", "Z"}, with_nodes({"/dev/amy", "/dev/eve"}));
    CHECK(node.adopted() == "amy<X,Z eve<Y");
  }
}

TEST_CASE("ids that the checkpoint has under any NUMA node are found") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  node.checkpoint.pod_devices.push_back(
      {"u", "main", kA, {{0, {"X"}}, {1, {"Y"}}}, with_nodes({"/dev/amy", "/dev/bob"})});
  CHECK(node.adopted() == "amy<X bob<Y");
}

TEST_CASE("a holder without certain evidence is unrecognised, even if its id is a device's UUID") {
  Node node{.devices = {at("amy", {"/dev/amy"})}};
  node.devices[0].attributes = {{"uuid", "GPU-aaaa-bbbb"}};
  std::optional<Allocation> given = Allocation();
  SUBCASE("the answer in the checkpoint cannot be read") { given.reset(); }
  SUBCASE("the container was given nothing") {}
  SUBCASE("the container was given a node that no listed device has") { given = with_nodes({"/dev/1"}); }
  SUBCASE("the container was given the UUID in a variable and in a different vendor's CDI name") {
    given->env = {{"VISIBLE", "GPU-aaaa-bbbb"}};
    given->cdi = {"v.com/c=GPU-aaaa-bbbb"};
  }
  node.hold({"GPU-aaaa-bbbb", "Y"}, given);
  const Adoption adoption = node.look();
  CHECK(adoption.devices.empty());
  REQUIRE(adoption.strangers.size() == 2);
  CHECK(adoption.strangers[0] == FormerId{.id = "GPU-aaaa-bbbb", .pod_uid = "u0", .container = "main"});
  CHECK(adoption.strangers[1].id == "Y");
}

TEST_CASE("an id that may belong to either of two duplicates reserves both unless a node decides") {
  Node node{.devices = {at("usb-1", {"/dev/1"}), at("usb-2", {"/dev/2"}), at("usb-3", {"/dev/3"})}};
  for (Device& device : node.devices)
    device.hardware.edit().ids = {.by_name = device.id == "usb-3" ? "B" : "A", .by_place = device.id};
  SUBCASE("the id is the duplicates' name") {
    node.hold({"A"}, Allocation{.cdi = {"v.com/c=A"}});
    CHECK(node.adopted() == "usb-1<A usb-2<A");
  }
  SUBCASE("the id is a share of the duplicates' name") {
    for (Device& device : node.devices) device.replicas = 2;
    node.hold({"A::1"}, Allocation{.cdi = {"v.com/c=A"}});
    CHECK(node.adopted() == "usb-1<A::1 usb-2<A::1");
  }
  SUBCASE("the container has the node of one duplicate") {
    node.hold({"A"}, with_nodes({"/dev/2"}));
    CHECK(node.adopted() == "usb-2<A");
  }
  SUBCASE("the id is the place of a device that is listed by its name now") {
    node.devices[2].id = "B";
    node.hold({"usb-3"}, Allocation{.cdi = {"v.com/c=usb-3"}});
    CHECK(node.adopted() == "B<usb-3");
  }
}

TEST_CASE(
    "a device was given for an id if the checkpoint's answer for the id has one of the device's nodes") {
  Device device = at("A", {"/dev/1"});
  device.hardware.edit().ids = {.by_name = "A", .by_place = "usb-1"};
  Node node{.links = {{"/dev/by-id", "/dev/1"}}};
  const auto given = [&](const std::string& id) {
    return was_given(node.checkpoint, kA, id, device, node.paths()) != GivenBy::kNothing;
  };
  CHECK_FALSE(given("A"));
  SUBCASE("the answer has the device's node") {
    node.hold({"A"}, with_nodes({"/dev/1"}));
    CHECK(given("A"));
    CHECK_FALSE(given("usb-1"));
  }
  SUBCASE("the answer for a share has a link to the device's node") {
    node.hold({"A::1"}, with_nodes({"/dev/by-id"}));
    CHECK(given("A"));
  }
  SUBCASE("the answer has the target of the device's node, which is a link") {
    device.nodes[0].host_path = "/dev/by-id";
    node.hold({"usb-1"}, with_nodes({"/dev/1"}));
    CHECK(given("usb-1"));
  }
  SUBCASE("the answers have a different node, resource or id, or cannot be read") {
    node.hold({"A"}, with_nodes({"/dev/2"}));
    node.hold({"A"}, with_nodes({"/dev/1"}), "x.com/b");
    node.hold({"AB"}, with_nodes({"/dev/1"}));
    node.hold({"A"}, std::nullopt);
    CHECK_FALSE(given("A"));
  }
  SUBCASE("an answer with only a CDI name is evidence for an id by place") {
    node.hold({"A", "usb-1"}, Allocation{.cdi = {"v.com/c=A"}});
    CHECK_FALSE(given("A"));
    CHECK(given("usb-1"));
  }
}

TEST_CASE("a link, a name in the container and the node's own path are evidence of increasing strength") {
  Device device = at("A", {"/dev/by-path"});
  device.nodes[0].container_path = "/dev/1";
  Node node{.links = {{"/dev/by-path", "/dev/1"}, {"/dev/by-id", "/dev/1"}, {"/dev/newest", "/dev/2"}}};
  const auto given = [&](const char* host_path, const char* container_path) {
    node.checkpoint = {};
    node.hold({"A"}, Allocation{.nodes = {{.host_path = host_path, .container_path = container_path}}});
    return was_given(node.checkpoint, kA, "A", device, node.paths());
  };
  CHECK(given("/dev/by-path", "/dev/7") == GivenBy::kPath);
  CHECK(given("/dev/newest", "/dev/1") == GivenBy::kName);
  CHECK(given("/dev/newest", "/dev/2") == GivenBy::kNothing);
  CHECK(given("/dev/by-id", "/dev/7") == GivenBy::kLink);
  CHECK(given("/dev/1", "/dev/1") == GivenBy::kLink);
  device.nodes[0].container_path = "/dev/modem";  // a path chosen by the entry identifies nothing
  CHECK(given("/dev/newest", "/dev/modem") == GivenBy::kNothing);
}

TEST_CASE("a container that holds an absent device is stale, with the hardware to which its nodes lead now") {
  Node node{.devices = {at("bob", {"/dev/2"})}};
  node.hold({"amy"}, with_nodes({"/dev/3"}));
  const std::vector<std::string> units{"/sys/dev/3"};
  SUBCASE("the device was listed before") { node.held.own = {{kA, id_list({"amy"})}}; }
  SUBCASE("the device is unknown, as after a restart") {}
  const Adoption found = node.look();
  REQUIRE(found.stale.contains("amy"));
  CHECK(found.stale.at("amy")[0].holder == FormerId{"amy", "u0", "main"});
  CHECK(found.stale.at("amy")[0].given == std::vector<std::string>{"/dev/3"});
  CHECK(found.stale.at("amy")[0].now.empty());
  CHECK(found.stale.at("amy")[0].units == units);
}

TEST_CASE("a container that holds two absent devices is stale for both if its nodes lead to other hardware") {
  Node node{.devices = {at("bob", {"/dev/2"})}};
  node.hold({"amy", "eve"}, with_nodes({"/dev/3", "/dev/4"}));
  SUBCASE("both were listed") { node.held.own = {{kA, id_list({"amy", "eve"})}}; }
  SUBCASE("neither is known, as after a restart") {}
  const Adoption found = node.look();
  REQUIRE(found.stale.size() == 2);
  for (const std::string id : {"amy", "eve"}) {
    REQUIRE(found.stale.at(id).size() == 1);
    CHECK(found.stale.at(id)[0].holder == FormerId{id, "u0", "main"});
    CHECK(found.stale.at(id)[0].units == std::vector<std::string>{"/sys/dev/3", "/sys/dev/4"});
  }
}

TEST_CASE(
    "a container that holds an absent device is not stale if its nodes may be in every container or are "
    "shared") {
  Node node{.devices = {at("bob", {"/dev/2"}, 4)}};
  SUBCASE("the node is one that the entry adds to each device") {
    node.spec.nodes = {{.host_path = Template("/dev/3"), .container_path = Template("/dev/3")}};
    node.hold({"amy"}, with_nodes({"/dev/3"}));
  }
  SUBCASE("the entry's allocate program may have added the node") {
    node.spec.allocate.emplace();
    node.hold({"amy"}, with_nodes({"/dev/3"}));
  }
  SUBCASE("the node belongs to a present device with shares") { node.hold({"amy"}, with_nodes({"/dev/2"})); }
  CHECK(node.look().stale.empty());
}

TEST_CASE("a container whose nodes are not its device's is stale, with the nodes and their hardware") {
  Node node{.devices = {at("amy", {"/dev/1"}), at("bob", {"/dev/2"}), at("cat", {"/dev/3"}, 4)}};
  node.hold({"amy"}, with_nodes({"/dev/2"}));
  node.hold({"bob"}, with_nodes({"/dev/2"}));
  node.hold({"cat::1", "cat::3"}, with_nodes({"/dev/4"}));
  node.hold({"cat::2"}, Allocation{.cdi = {"v.com/c=cat"}});
  const Adoption found = node.look();
  REQUIRE(found.stale.size() == 2);
  REQUIRE(found.stale.at("amy").size() == 1);
  const Stale& amy = found.stale.at("amy")[0];
  CHECK(amy.holder == FormerId{"amy", "u0", "main"});
  CHECK(amy.given == std::vector<std::string>{"/dev/2"});
  CHECK(amy.now == "/dev/1");
  CHECK(amy.units == std::vector<std::string>{"/sys/dev/2"});
  REQUIRE(found.stale.at("cat").size() == 2);
  CHECK(found.stale.at("cat")[0].share == 1);
  CHECK(found.stale.at("cat")[1].share == 3);
  CHECK(own(found) == std::set<std::string>{"amy", "bob", "cat::1", "cat::2", "cat::3"});
  CHECK(found.devices.empty());
}

TEST_CASE("a container's additional nodes do not make it stale if an allocate program may have added them") {
  Node node{.devices = {at("amy", {"/dev/1"})}};
  node.hold({"amy"}, with_nodes({"/dev/1", "/dev/common"}));
  CHECK(node.look().stale.at("amy")[0].now.empty());
  node.spec.allocate.emplace();
  CHECK(node.look().stale.empty());
  node.devices = {at("amy", {"/dev/2"})};
  CHECK(node.look().stale.at("amy")[0].now == "/dev/2");
}

TEST_CASE("an id from before a reload is adopted if its device still exists") {
  Node node{.devices = {at("serial-1", {"/dev/amy"}), at("serial-2", {"/dev/bob"})}};
  node.hold({"amy"}, with_nodes({"/dev/amy"}));
  const Inventory before({at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})});
  node.listed = {{kA, before}};
  SUBCASE(
      "without a reload, the id of an absent device is the resource's own, although a device has its node") {
    CHECK(node.adopted().empty());
    CHECK(own(node.look()).contains("amy"));
  }
  SUBCASE("in the first scan after the reload") {
    node.held.before_reload = {{{kA, before}}};
    node.held.own = {{kA, id_list({"amy"})}};
    node.held.reloaded = true;
    CHECK(node.adopted() == "serial-1<amy");
    CHECK(own(node.look()) == std::set<std::string>{"amy"});
  }
  SUBCASE("in every later scan") {
    node.held.before_reload = {{{kA, before}}};
    node.held.adopted = {{kA, {"amy"}}};
    node.listed.clear();
    CHECK(node.adopted() == "serial-1<amy");
  }
  SUBCASE("after a second reload, before which the device was listed as gone") {
    std::vector<Device> then = node.devices;
    then.push_back(at("amy", {"/dev/amy"}));
    then.back().gone = true;
    node.listed = {{kA, Inventory(then)}};
    node.held.before_reload = {{{kA, Inventory(then)}}, {{kA, before}}};
    node.held.reloaded = true;
    CHECK(node.adopted().empty());
    node.held.adopted = {{kA, {"amy"}}};
    CHECK(node.adopted() == "serial-1<amy");
  }
  SUBCASE("the holder of an adopted device that is absent for a while is not reported as unrecognised") {
    node.held.adopted = {{kA, {"amy"}}};
    node.devices = {at("serial-2", {"/dev/bob"})};
    CHECK(node.adopted().empty());
    CHECK(node.look().strangers.empty());
  }
  SUBCASE("an id that was not adopted in the first scan after the reload stays the resource's own") {
    node.held.before_reload = {{{kA, before}}};
    CHECK(node.adopted().empty());
    CHECK(own(node.look()).contains("amy"));
  }
  SUBCASE("an id whose device was gone before the reload stays the resource's own") {
    Device gone = at("amy", {"/dev/amy"});
    gone.gone = true;
    node.held.before_reload = {{{kA, Inventory({gone})}}};
    node.held.reloaded = true;
    CHECK(node.adopted().empty());
    CHECK(own(node.look()).contains("amy"));
  }
  SUBCASE("an id whose device the reload leaves out is the resource's own, and its holder is not reported") {
    node.held.before_reload = {{{kA, before}}};
    node.held.reloaded = true;
    node.devices = {at("serial-2", {"/dev/bob"})};
    CHECK(node.adopted().empty());
    CHECK(node.look().strangers.empty());
    CHECK(own(node.look()).contains("amy"));
  }
}

TEST_CASE("after a reload, a device without nodes is recognised by everything that its kind knows of it") {
  Node node{.devices = {{.id = "0"}, {.id = "1"}}};
  node.devices[0].attributes = {{"uuid", "GPU-a"}, {"model", "T4"}};
  node.devices[1].attributes = {{"uuid", "GPU-b"}, {"model", "T4"}};
  std::vector<Device> before = node.devices;
  before[0].id = "GPU-a";
  before[1].id = "GPU-b";
  node.held.before_reload = {{{kA, Inventory(before)}}};
  node.held.reloaded = true;
  Allocation visible;
  visible.env = {{"VISIBLE", "GPU-a,GPU-b"}};
  SUBCASE("a pod holds one device") {
    node.hold({"GPU-b"}, visible);
    CHECK(node.adopted() == "1<GPU-b");
  }
  SUBCASE("a pod holds both devices") {
    node.hold({"GPU-a", "GPU-b"}, visible);
    CHECK(node.adopted() == "0<GPU-a 1<GPU-b");
  }
  SUBCASE("the answer in the checkpoint cannot be read") {
    node.hold({"GPU-a"}, std::nullopt);
    CHECK(node.adopted() == "0<GPU-a");
  }
  SUBCASE("a different card is in the device's place") {
    node.devices[1].attributes[0].value = "GPU-c";
    node.hold({"GPU-b"}, visible);
    CHECK(node.adopted().empty());
  }
}

TEST_CASE("after a reload, each of several identical devices is held by the former id at the same position") {
  Node node{.devices = {{.id = "seat-0"}, {.id = "seat-1"}, {.id = "seat-2"}}};
  node.held.before_reload = {{{kA, Inventory({{.id = "0"}, {.id = "1"}, {.id = "2"}, {.id = "3"}})}}};
  node.held.reloaded = true;
  node.hold({"0"}, Allocation());
  node.hold({"2"}, Allocation());
  CHECK(node.adopted() == "seat-0<0 seat-2<2");
  node.hold({"3"}, Allocation());  // there are fewer devices now
  CHECK(node.adopted() == "seat-0<0 seat-2<2");
}

TEST_CASE("after a reload that changes the number of shares, a device is held by its former ids") {
  Node node;
  node.held.reloaded = true;
  SUBCASE("from one to three") {
    node.devices = {at("amy", {"/dev/amy"}, 3)};
    node.held.before_reload = {{{kA, Inventory({at("amy", {"/dev/amy"})})}}};
    node.hold({"amy"}, with_nodes({"/dev/amy"}));
    CHECK(node.adopted() == "amy<amy");
  }
  SUBCASE("from three to one") {
    node.devices = {at("amy", {"/dev/amy"})};
    node.held.before_reload = {{{kA, Inventory({at("amy", {"/dev/amy"}, 3)})}}};
    node.hold({"amy::0"}, with_nodes({"/dev/amy"}));
    node.hold({"amy::2"}, with_nodes({"/dev/amy"}));
    CHECK(node.adopted() == "amy<amy::0,amy::2");
  }
}

TEST_CASE("after a restart, an id with a different number of shares still holds its device") {
  Node node;
  SUBCASE("shared by four now") {
    node.devices = {{.id = "amy", .replicas = 4}, {.id = "bob", .replicas = 4}};
    node.hold({"amy"}, Allocation());
    CHECK(node.adopted() == "amy<amy");
  }
  SUBCASE("shared by two now") {
    node.devices = {{.id = "amy", .replicas = 2}};
    for (const char* id : {"amy::0", "amy::1", "amy::2", "amy::3"}) node.hold({id}, Allocation());
    CHECK(node.adopted() == "amy<amy::2,amy::3");
    CHECK(node.look().used.at("amy") == std::vector<unsigned>{0, 1});
  }
  SUBCASE("not shared now") {
    node.devices = {{.id = "amy"}, {.id = "bob"}};
    node.hold({"amy::2", "bob::0"}, std::nullopt);
    node.hold({"amy::3"}, Allocation());
    CHECK(node.adopted() == "amy<amy::2,amy::3 bob<bob::0");
  }
  SUBCASE("in the second scan after a reload, if the id was the resource's own before") {
    node.devices = {{.id = "amy", .replicas = 2}};
    node.held.own = {{kA, id_list({"amy"})}};
    node.listed = {{kA, Inventory({{.id = "amy", .replicas = 2}})}};
    node.hold({"amy"}, Allocation());
    CHECK(node.adopted() == "amy<amy");
  }
  SUBCASE("held under the name that the resource has with, or without, .shared") {
    node.devices = {{.id = "amy", .replicas = 2}};
    node.hold({"amy", "bob", "amy::1"}, Allocation(), kA + ".shared");
    CHECK(node.adopted() == "amy<amy,amy::1");
  }
  CHECK(node.look().strangers.empty());
  CHECK(node.look().stale.empty());
}

TEST_CASE(
    "a container that holds an id with former sharing is stale, with the present hardware of its nodes") {
  Node node;
  SUBCASE("its device has other nodes") {
    node.devices = {at("amy", {"/dev/2"})};
    node.hold({"amy::1"}, with_nodes({"/dev/1"}));
  }
  SUBCASE("its device is shared now") {
    node.devices = {at("amy", {"/dev/2"}, 2)};
    node.hold({"amy"}, with_nodes({"/dev/1"}));
  }
  SUBCASE("its device has gone") {
    node.devices = {at("bob", {"/dev/2"})};
    node.held.own = {{kA, id_list({"amy::1"})}};
    node.hold({"amy::1"}, with_nodes({"/dev/1"}));
  }
  const auto found = node.look();
  REQUIRE(found.stale.contains("amy"));
  REQUIRE(found.stale.at("amy").size() == 1);
  CHECK(found.stale.at("amy")[0].units == std::vector<std::string>{"/sys/dev/1"});
  CHECK(found.stale.at("amy")[0].now.empty());
}

}  // namespace
}  // namespace plughost
