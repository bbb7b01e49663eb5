#include "supervisor/adoption.hpp"

#include <doctest/doctest.h>

#include "assume/terms.hpp"
#include "base/joined.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

const std::string kA = "x.com/a";

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

// A machine with one resource, and a checkpoint.
struct Node {
  Recipe recipe;
  std::vector<Device> devices;
  std::map<std::string, Inventory> listed;
  HeldIds held;
  std::map<std::string, std::string> links;
  Checkpoint checkpoint;

  // The n-th container of all is pod "u<n>"'s.
  void hold(std::vector<std::string> ids, std::optional<Allocation> given, const std::string& resource = kA) {
    const std::string pod = "u" + std::to_string(checkpoint.pod_devices.size());
    checkpoint.pod_devices.push_back({pod, "main", resource, {{-1, std::move(ids)}}, std::move(given)});
  }
  Adoption look() {
    held.checkpoint = std::make_shared<const Checkpoint>(checkpoint);
    sort_by_id(devices);
    auto all = adopt(recipe, {{kA, devices}}, listed, held, [this](const std::string& path) {
      const auto link = links.find(path);
      return link == links.end() ? path : link->second;
    });
    CHECK(all.size() <= 1);
    return all[kA];
  }
  // "amy<X bob<Y,Z": the devices, and the ids by which they are held.
  std::string adopted() {
    std::string text;
    for (const auto& [device, holders] : look().devices) {
      text += (text.empty() ? "" : " ") + device;
      for (std::size_t i = 0; i < holders.size(); ++i) text += (i == 0 ? '<' : ',') + holders[i].id;
    }
    return text;
  }
};

TEST_CASE("where there is no checkpoint, or nobody holds anything, nothing is adopted") {
  CHECK(adopt({}, {{kA, {at("amy", {"/dev/amy"})}}}, {}, {}, nullptr).empty());
  Node node{.devices = {at("amy", {"/dev/amy"})}};
  CHECK(node.adopted().empty());
}

TEST_CASE(
    "a device is held by another plugin's id if the container has its node, its mount or its CDI name") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  SUBCASE("a node") {
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("a node of theirs that is a mount of ours") {
    node.devices[1].nodes.clear();
    node.devices[1].mounts = {{.host_path = "/dev/bob", .container_path = PositionText("/b")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("a mount of theirs that is a node of ours") {
    Allocation given;
    given.mounts = {{.host_path = "/dev/bob", .container_path = "/b"}};
    node.hold({"X"}, given);
  }
  SUBCASE("a CDI name") {
    auto names = std::make_shared<KindRecipe>();
    names->cdi = {Template("v.com/c={id}")};
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
      device.recipe = names;
    }
    Allocation given;
    given.cdi = {"v.com/c=bob"};
    node.hold({"X"}, given);
  }
  SUBCASE("what the entry itself brings for each device") {
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
    }
    node.recipe.nodes = {{.host_path = Template("/dev/{id}"), .container_path = Template("/dev/{id}")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("what is in our own CDI specification") {
    node.recipe.cdi = CdiNames::kCri;
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("a device that is sick is held, too") {
    node.devices[1].trouble = "sick";
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("a device that is sick, and whose node is what the entry brings") {
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
    }
    node.recipe.nodes = {{.host_path = Template("/dev/{id}"), .container_path = Template("/dev/{id}")}};
    node.devices[1].trouble = "sick";
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("what the entry brings beside words of the pod that is not known") {
    node.recipe.units = CardUnits::kOfOneCard;
    node.recipe.assume = std::make_shared<const AssumeTerms>();
    node.recipe.env = {{Template("WHO"), Template("{namespace}/{pod} {podUnits} {units}")}};
    for (Device& device : node.devices) {
      device.nodes.clear();
      device.attributes = {{"id", device.id}};
    }
    node.recipe.nodes = {{.host_path = Template("/dev/{id}"), .container_path = Template("/dev/{id}")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  SUBCASE("a device of which no answer can be made") {
    node.recipe.env = {{Template("E"), Template("{missing}")}};
    node.hold({"X"}, with_nodes({"/dev/bob"}));
  }
  CHECK(node.adopted() == "bob<X");
  const Adoption found = node.look();
  CHECK(found.devices.at("bob").at(0) == FormerId{.id = "X", .pod_uid = "u0", .container = "main"});
  CHECK(found.strangers.empty());
  CHECK(found.own.empty());
}

TEST_CASE("a link and the node to which it leads are one device, whoever has the link") {
  Node node{.devices = {at("amy", {"/dev/ttyUSB0"}), at("bob", {"/dev/serial/by-id/bob"})}};
  node.links = {{"/dev/serial/by-id/amy", "/dev/ttyUSB0"}, {"/dev/serial/by-id/bob", "/dev/ttyUSB1"}};
  node.hold({"X"}, with_nodes({"/dev/serial/by-id/amy"}));
  node.hold({"Y"}, with_nodes({"/dev/ttyUSB1"}));
  CHECK(node.adopted() == "amy<X bob<Y");
}

TEST_CASE("what several devices have tells nothing of any, unless they have nothing else") {
  Node node{.devices = {at("0", {"/dev/ctl", "/dev/card0"}), at("1", {"/dev/ctl", "/dev/card1"})}};
  node.hold({"X"}, with_nodes({"/dev/ctl", "/dev/card1"}));
  node.hold({"Y"}, with_nodes({"/dev/ctl", "/dev/card7"}));
  CHECK(node.adopted() == "1<X");
  const Adoption found = node.look();
  REQUIRE(found.strangers.size() == 1);
  CHECK(found.strangers[0].held.id == "Y");
  CHECK(found.strangers[0].found == "device nodes /dev/ctl, /dev/card7");
}

TEST_CASE("of devices that are alike as many are held as there are ids, from the last") {
  Node node{.devices = {{.id = "0"}, {.id = "1"}, {.id = "2"}, {.id = "3"}}};
  node.recipe.nodes = {{.host_path = Template("/dev/fuse"), .container_path = Template("/dev/fuse")}};
  node.hold({"X"}, with_nodes({"/dev/fuse"}));
  CHECK(node.adopted() == "3<X");
  node.hold({"2"}, with_nodes({"/dev/fuse"}));  // that is ours
  node.hold({"Y", "Z"}, with_nodes({"/dev/fuse"}));
  CHECK(node.adopted() == "0<Z 1<Y 3<X");
  node.hold({"V"}, with_nodes({"/dev/fuse"}));
  CHECK(node.adopted() == "0<Z 1<Y 3<X");
  CHECK(node.look().strangers.empty());
}

TEST_CASE("an id that is listed, or was, is the resource's own") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  node.hold({"amy"}, with_nodes({"/dev/bob"}));
  Device gone = at("eve", {"/dev/bob"});
  gone.gone = true;
  gone.trouble = "gone";
  node.listed = {{kA, Inventory({gone})}};
  node.held.own = {{kA, {"zoe"}}, {"x.com/b", {"X"}}};
  node.hold({"eve"}, with_nodes({"/dev/bob"}));
  node.hold({"zoe"}, with_nodes({"/dev/bob"}));
  CHECK(node.adopted().empty());
  CHECK(node.look().own == std::set<std::string>{"amy", "eve", "zoe"});
  CHECK(node.look().used.at("amy") == std::set<unsigned>{0});
  node.hold({"X"}, with_nodes({"/dev/bob"}));
  CHECK(node.adopted() == "bob<X");
}

TEST_CASE("another resource's ids are nobody's affair") {
  Node node{.devices = {at("amy", {"/dev/amy"})}};
  node.hold({"X"}, with_nodes({"/dev/amy"}), "x.com/b");
  CHECK(node.adopted().empty());
}

TEST_CASE("a device that a container holds by the id with which it is listed is nobody else's") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  node.hold({"X"}, with_nodes({"/dev/amy"}));
  node.hold({"amy"}, with_nodes({"/dev/amy"}));
  CHECK(node.adopted().empty());
  CHECK(node.look().strangers.empty());
}

TEST_CASE("of a device with shares each id holds one, and those that are ours are used") {
  Node node{.devices = {at("gpu", {"/dev/gpu"}, 3)}};
  node.hold({"X"}, with_nodes({"/dev/gpu"}));
  CHECK(node.adopted() == "gpu<X");
  node.hold({"Y", "Z"}, with_nodes({"/dev/gpu"}));
  CHECK(node.adopted() == "gpu<X,Y,Z");
  node.hold({"gpu::2"}, with_nodes({"/dev/gpu"}));
  CHECK(node.look().used.at("gpu") == std::set<unsigned>{2});
  CHECK(node.adopted() == "gpu<X,Y,Z");
  node.hold({"gpu::0"}, with_nodes({"/dev/gpu"}));
  CHECK(node.look().used.at("gpu") == std::set<unsigned>{0, 2});
  CHECK(node.adopted() == "gpu<X,Y,Z");
  node.hold({"gpu::1"}, with_nodes({"/dev/gpu"}));
  CHECK(node.adopted().empty());
}

TEST_CASE("an id that stands for several devices holds each, and of several ids each holds one") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"}), at("eve", {"/dev/eve"})}};
  SUBCASE("one for two") {
    node.hold({"X"}, with_nodes({"/dev/amy", "/dev/eve"}));
    CHECK(node.adopted() == "amy<X eve<X");
  }
  SUBCASE("two for two") {
    node.hold({"X", "Y"}, with_nodes({"/dev/amy", "/dev/eve"}));
    CHECK(node.adopted() == "amy<X eve<Y");
  }
  SUBCASE("three for two") {
    node.hold({"X", "Y", "Z"}, with_nodes({"/dev/amy", "/dev/eve"}));
    CHECK(node.adopted() == "amy<X,Z eve<Y");
  }
}

TEST_CASE("ids of every NUMA node count") {
  Node node{.devices = {at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})}};
  node.checkpoint.pod_devices.push_back(
      {"u", "main", kA, {{0, {"X"}}, {1, {"Y"}}}, with_nodes({"/dev/amy", "/dev/bob"})});
  CHECK(node.adopted() == "amy<X bob<Y");
}

TEST_CASE(
    "without a node of its own a device is known by an attribute that an id, a variable or a name has") {
  Node node{.devices = {{.id = "0"}, {.id = "1"}}};
  node.devices[0].attributes = {{"uuid", "GPU-aaaa"}, {"model", "Tesla T4"}, {"index", "0000000"}};
  node.devices[1].attributes = {{"uuid", "GPU-bbbb"}, {"model", "Tesla T4"}, {"index", "1111111"}};
  Allocation given;
  SUBCASE("an id") {
    node.hold({"GPU-bbbb"}, given);
    CHECK(node.adopted() == "1<GPU-bbbb");
  }
  SUBCASE("an id of a share, in an answer that nobody can read") {
    node.hold({"GPU-bbbb::3"}, std::nullopt);
    CHECK(node.adopted() == "1<GPU-bbbb::3");
  }
  SUBCASE("a variable") {
    given.env = {{"VISIBLE", "GPU-aaaa"}};
    node.hold({"X"}, given);
    CHECK(node.adopted() == "0<X");
  }
  SUBCASE("several in a variable") {
    given.env = {{"VISIBLE", "GPU-aaaa,GPU-bbbb"}};
    node.hold({"X", "Y"}, given);
    CHECK(node.adopted() == "0<X 1<Y");
  }
  SUBCASE("a CDI name") {
    given.cdi = {"nvidia.com/gpu=GPU-bbbb"};
    node.hold({"X"}, given);
    CHECK(node.adopted() == "1<X");
  }
  SUBCASE("what both have tells nothing") {
    given.env = {{"MODEL", "Tesla T4"}};
    node.hold({"X"}, given);
    CHECK(node.adopted().empty());
  }
  SUBCASE("a word of seven letters may mean anything") {
    given.env = {{"INDEX", "1111111"}};
    node.hold({"X"}, given);
    CHECK(node.adopted().empty());
  }
  SUBCASE("a node that one of them has counts for more") {
    node.devices[0].nodes = {{.host_path = "/dev/gpu0", .container_path = PositionText("/dev/gpu0")}};
    given = with_nodes({"/dev/gpu0"});
    given.env = {{"VISIBLE", "GPU-bbbb"}};
    node.hold({"X"}, given);
    CHECK(node.adopted() == "0<X");
  }
}

TEST_CASE("what no device is recognised in is told, with what it has") {
  Node node{.devices = {at("amy", {"/dev/amy"})}};
  const auto found = [&](std::optional<Allocation> given) {
    node.checkpoint = {};
    node.hold({"X", "Y"}, std::move(given));
    const Adoption adoption = node.look();
    CHECK(adoption.devices.empty());
    REQUIRE(adoption.strangers.size() == 2);
    CHECK(adoption.strangers[0].held == FormerId{.id = "X", .pod_uid = "u0", .container = "main"});
    CHECK(adoption.strangers[1].held.id == "Y");
    return adoption.strangers[0].found;
  };
  CHECK(found(std::nullopt) == "an answer that cannot be read");
  CHECK(found(Allocation()) == "nothing");
  CHECK(found(with_nodes({"/dev/1", "/dev/2", "/dev/3", "/dev/4"})) ==
        "device nodes /dev/1, /dev/2, /dev/3, /dev/4");
  Allocation all = with_nodes({"/dev/1", "/dev/2", "/dev/3", "/dev/4", "/dev/5"});
  all.mounts = {{.host_path = "/m", .container_path = "/n"}};
  all.cdi = {"v/c=1"};
  all.env = {{"E", "secret"}};
  CHECK(found(all) ==
        "device nodes /dev/1, /dev/2, /dev/3, /dev/4 and 1 more; mounts /m; CDI devices v/c=1; environment "
        "variables E");
}

TEST_CASE("an id of before a reload is adopted if its device is still there") {
  Node node{.devices = {at("serial-1", {"/dev/amy"}), at("serial-2", {"/dev/bob"})}};
  node.hold({"amy"}, with_nodes({"/dev/amy"}));
  node.held.own = {{kA, {"amy"}}};
  const Inventory before({at("amy", {"/dev/amy"}), at("bob", {"/dev/bob"})});
  node.listed = {{kA, before}};
  SUBCASE("not without a reload: it was pulled out, and another one has its node") {
    CHECK(node.adopted().empty());
  }
  SUBCASE("the first look after it") {
    node.held.before_reload = {{kA, before}};
    CHECK(node.adopted() == "serial-1<amy");
    CHECK(node.look().own.empty());
  }
  SUBCASE("and every one that follows") {
    node.held.adopted = {{kA, {"amy"}}};
    CHECK(node.adopted() == "serial-1<amy");
  }
  SUBCASE("what was gone before the reload stays as it was") {
    Device gone = at("amy", {"/dev/amy"});
    gone.gone = true;
    node.held.before_reload = {{kA, Inventory({gone})}};
    CHECK(node.adopted().empty());
  }
  SUBCASE("what the reload leaves out is no stranger") {
    node.held.before_reload = {{kA, before}};
    node.devices = {at("serial-2", {"/dev/bob"})};
    CHECK(node.adopted().empty());
    CHECK(node.look().strangers.empty());
  }
}

TEST_CASE("a reload that changes the number of shares changes ids, too") {
  Node node;
  SUBCASE("from one to three") {
    node.devices = {at("amy", {"/dev/amy"}, 3)};
    node.held.before_reload = {{kA, Inventory({at("amy", {"/dev/amy"})})}};
    node.hold({"amy"}, with_nodes({"/dev/amy"}));
    CHECK(node.adopted() == "amy<amy");
  }
  SUBCASE("from three to one") {
    node.devices = {at("amy", {"/dev/amy"})};
    node.held.before_reload = {{kA, Inventory({at("amy", {"/dev/amy"}, 3)})}};
    node.hold({"amy::0"}, with_nodes({"/dev/amy"}));
    node.hold({"amy::2"}, with_nodes({"/dev/amy"}));
    CHECK(node.adopted() == "amy<amy::0,amy::2");
  }
}

TEST_CASE("what is in a pool is held by its own id, too: the kubelet gave it when it was in a list") {
  Node node{.devices = {at("amy", {"/dev/amy"}, 2), at("bob", {"/dev/bob"})}};
  node.hold({"amy::1", "bob"}, with_nodes({"/dev/amy", "/dev/bob"}));
  CHECK(node.adopted().empty());
  CHECK(node.look().own == std::set<std::string>{"amy::1", "bob"});
  node.recipe.dra = std::make_shared<const DraTerms>();
  CHECK(node.adopted() == "amy<amy::1 bob<bob");
  CHECK(node.look().own.empty());
  CHECK(node.look().devices.at("bob").front().of_own_list);
  CHECK(node.look().devices.at("bob").front().pod_uid == "u0");
  // By another plugin's id as ever.
  node.hold({"X"}, with_nodes({"/dev/amy"}));
  CHECK(node.adopted() == "amy<amy::1,X bob<bob");
  CHECK_FALSE(node.look().devices.at("amy").back().of_own_list);
}

TEST_CASE("what is in a pool, but away with its pod, is held by whoever has it from before") {
  Node node{.devices = {at("bob", {"/dev/bob"})}};
  Device away = at("amy", {});
  away.away = true;
  node.hold({"amy"}, {});
  const auto is_held = [&] {
    node.recipe.dra = nullptr;
    CHECK_FALSE(node.look().devices.contains("amy"));
    node.recipe.dra = std::make_shared<const DraTerms>();
    const Adoption found = node.look();
    return found.devices.contains("amy") && found.devices.at("amy").front().of_own_list;
  };
  CHECK_FALSE(is_held());
  SUBCASE("by the configuration before this one") {
    node.held.before_reload = {{kA, Inventory({away})}};
  }
  SUBCASE("by this one") {
    node.listed = {{kA, Inventory({away})}};
  }
  CHECK(is_held());
}

TEST_CASE("what is in a pool is held by another resource's id, too, if the pod has all of it") {
  const std::string former = "x.com/former";
  Node node{.devices = {at("amy", {"/dev/amy", "/dev/amy-control"}), at("bob", {"/dev/bob"})}};
  node.hold({"Y", "X"}, with_nodes({"/dev/amy", "/dev/amy-control", "/dev/else"}), former);
  CHECK(node.adopted().empty());
  node.recipe.dra = std::make_shared<const DraTerms>();
  CHECK(node.adopted() == "amy<Y");
  const FormerId holder = node.look().devices.at("amy").front();
  CHECK(holder == FormerId{.id = "Y", .pod_uid = "u0", .container = "main", .resource = former});
  SUBCASE("its id is the one that is called as the device is") {
    node.checkpoint.pod_devices[0].ids = {{-1, {"bob", "amy"}}};
    CHECK(node.adopted() == "amy<amy");
  }
  SUBCASE("a node that it shares with others is not the device") {
    node.checkpoint.pod_devices[0].allocation = with_nodes({"/dev/amy-control"});
    CHECK(node.adopted().empty());
  }
  SUBCASE("by a link that leads to it") {
    node.links["/dev/by-id/bob"] = "/dev/bob";
    node.checkpoint.pod_devices[0].allocation = with_nodes({"/dev/by-id/bob"});
    CHECK(node.adopted() == "bob<Y");
  }
  SUBCASE("what cannot be read says nothing") {
    node.checkpoint.pod_devices[0].allocation.reset();
    CHECK(node.adopted().empty());
  }
}

TEST_CASE("a card that another resource has given is known by its UUID, and has its parts") {
  Node node{.devices = {at("MIG-1111", {}), at("MIG-2222", {})}};
  node.recipe.dra = std::make_shared<const DraTerms>();
  node.devices[0].attributes = {{"uuid", "MIG-1111"}, {"card", "GPU-aaaa"}};
  node.devices[1].attributes = {{"uuid", "MIG-2222"}, {"card", "GPU-bbbb"}};
  Allocation given;
  given.env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-cccc,MIG-2222"}};
  node.hold({"GPU-cccc"}, given, "x.com/former");
  CHECK(node.adopted() == "MIG-2222<GPU-cccc");
  given.env = {{"NVIDIA_VISIBLE_DEVICES", "GPU-aaaa"}};
  node.hold({"GPU-aaaa"}, given, "x.com/former");
  CHECK(node.adopted() == "MIG-1111<GPU-aaaa MIG-2222<GPU-cccc");
}

TEST_CASE("of a device that several may have another resource takes shares only if it counts them") {
  Node node{.devices = {at("amy", {"/dev/amy"}, 3)}};
  node.recipe.dra = std::make_shared<const DraTerms>();
  node.hold({"amy"}, with_nodes({"/dev/amy"}), "x.com/former");
  CHECK(node.adopted().empty());
  node.hold({"amy::2", "amy::0"}, with_nodes({"/dev/amy"}), "x.com/former");
  CHECK(node.adopted() == "amy<amy::2,amy::0");
}

}  // namespace
}  // namespace plughost
