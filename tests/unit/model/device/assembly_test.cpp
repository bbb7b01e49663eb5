#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "model/device/names.hpp"

namespace plughost {
namespace {

Device device(std::string id, std::vector<Attribute> attributes = {}) {
  Device made;
  made.id = std::move(id);
  made.attributes = std::move(attributes);
  return made;
}

AllocationSpec named(std::string_view name, std::string_view id = {}, unsigned replicas = 1) {
  AllocationSpec spec;
  spec.name = Template(name);
  spec.id = Template(id);
  spec.replicas = replicas;
  return spec;
}

std::vector<std::string> ids_of(const Assembly& assembly, const std::string& resource = "example.com/x") {
  std::vector<std::string> ids;
  for (const Device& each : assembly.resources.at(resource)) ids.push_back(each.id);
  return ids;
}

bool remarked(const Assembly& assembly, std::string_view words) {
  for (const std::string& remark : assembly.remarks) {
    if (remark.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("an attribute can be used in a path if it is a single name, or known to be a path") {
  const Device made = device("sub/licence", {{"path", "/etc/gophers/sub/licence"},
                                             {"name", "sub/licence"},
                                             {"link", "/dev/disk/by-id/x"},
                                             {"target", "../x"},
                                             {"pciPath", "0000:00:01.0/0000:01:00.0"},
                                             {"vendor", "a/b"},
                                             {"model", "a\x1b"},
                                             {"side", "a\xe2\x80\xae"},
                                             {"up", ".."},
                                             {"here", "."},
                                             {"dots", "a..b"},
                                             {"last", "licence"},
                                             {"other", "ub/licence"}});
  for (const char* const name : {"path", "name", "id", "link", "pciPath", "dots", "last", "none"})
    CHECK_MESSAGE(made.path_error(name) == "", name);
  for (const char* const name : {"target", "vendor", "model", "side", "up", "here", "other"})
    CHECK_MESSAGE(made.path_error(name).starts_with("its {" + std::string(name) + "} is "), name);
  CHECK(made.path_error("model").find("\"a\\x1B\", which has a control character in it and") !=
        std::string::npos);
  CHECK(made.path_error("vendor").find("has a '/' in it") != std::string::npos);
}

TEST_CASE("a resource whose entry finds no devices has an empty list") {
  const Assembly assembly = assemble(named("example.com/x"), {});
  CHECK(assembly.resources.size() == 1);
  CHECK(ids_of(assembly).empty());
  CHECK(assembly.remarks.empty());
}

TEST_CASE("devices keep the kind's ids, sorted") {
  CHECK(ids_of(assemble(named("example.com/x"), {device("b"), device("a")})) ==
        std::vector<std::string>{"a", "b"});
}

TEST_CASE("an id template names the resource, the position, the kind's id and attributes") {
  const Assembly assembly = assemble(named("example.com/x", "{resource}-{n}-{id}-{serial}"),
                                     {device("b", {{"serial", "S"}}), device("a", {{"serial", "T"}})});
  CHECK(ids_of(assembly) == std::vector<std::string>{"example.com/x-0-b-S", "example.com/x-1-a-T"});
}

TEST_CASE("a device without the values of its id is left out") {
  const Assembly assembly =
      assemble(named("example.com/x", "{serial}"),
               {device("a"), device("b", {{"serial", ""}}), device("c", {{"serial", "S"}})});
  CHECK(ids_of(assembly) == std::vector<std::string>{"S"});
  CHECK(assembly.remarks ==
        std::vector<std::string>{"device \"a\" is left out: it has no {serial}, which `id` asks for",
                                 "device \"b\" is left out: its id would be empty"});
}

TEST_CASE("ids leave room for the longest replica's suffix") {
  Device shared = device(std::string(70, 'x'));
  shared.replicas = 5;
  const Assembly assembly = assemble(named("example.com/x", "", 20), {shared});
  const Device& listed = assembly.resources.at("example.com/x")[0];
  CHECK(listed.replicas == 100);
  CHECK(listed.id.size() == 63 - 4);
  CHECK(replica_id(listed, 99).size() == 63);
  CHECK(remarked(assembly, "too long"));
}

TEST_CASE("a device with replicas has no hardware of its own") {
  Device own = device("own");
  own.hardware.edit().units = {"/sys/devices/a"};
  CHECK(assemble(named("example.com/x"), {own}).resources.at("example.com/x")[0].hardware->units.size() == 1);
  CHECK(assemble(named("example.com/x", "", 2), {own})
            .resources.at("example.com/x")[0]
            .hardware->units.empty());
}

TEST_CASE("an id that has to change leads to a remark, and others do not") {
  const Assembly assembly = assemble(named("example.com/x"), {device("my disk"), device("fine")});
  CHECK(ids_of(assembly) == std::vector<std::string>{"fine", "my%20disk"});
  CHECK(assembly.remarks.size() == 1);
  CHECK(remarked(assembly, "\"my%20disk\""));
}

TEST_CASE("of devices with one id the first stays, and the remark has the remedy") {
  const Assembly assembly = assemble(named("example.com/x"), {device("b", {{"path", "1"}}), device("a"),
                                                              device("b", {{"path", "2"}}), device("b")});
  CHECK(ids_of(assembly) == std::vector<std::string>{"a", "b"});
  CHECK(*assembly.resources.at("example.com/x")[1].attribute("path") == "1");
  CHECK(assembly.remarks.size() == 2);
  CHECK(remarked(assembly, "set `id`"));
}

TEST_CASE("a device whose id equals that of a replica is left out") {
  Device shared = device("gpu");
  shared.replicas = 2;
  const Assembly assembly = assemble(named("example.com/x"), {shared, device("gpu::1"), device("gpu::2")});
  CHECK(ids_of(assembly) == std::vector<std::string>{"gpu", "gpu::2"});
  CHECK(remarked(assembly, "\"gpu::1\""));
}

TEST_CASE("a name template makes one resource per value") {
  const Assembly assembly =
      assemble(named("example.com/{name}", "{resource}-{n}"),
               {device("1", {{"name", "snd/timer"}}), device("2", {{"name", "kvm"}}),
                device("3", {{"name", "kvm"}}), device("4", {{"name", "--"}}), device("5")});
  CHECK(assembly.resources.size() == 2);
  CHECK(ids_of(assembly, "example.com/snd_timer") == std::vector<std::string>{"example.com/snd_timer-0"});
  CHECK(ids_of(assembly, "example.com/kvm") ==
        std::vector<std::string>{"example.com/kvm-1", "example.com/kvm-2"});
  CHECK(assembly.remarks.size() == 2);
  CHECK(remarked(assembly, "device \"4\" is left out: it has no {name}"));
}

TEST_CASE("a name that the kubelet would refuse leaves its device out") {
  const Assembly assembly = assemble(named("example.com/" + std::string(60, 'x') + "{name}"),
                                     {device("a", {{"name", "long"}}), device("b", {{"name", "y"}})});
  CHECK(assembly.resources.size() == 1);
  CHECK(remarked(assembly, "has 64 characters"));
}

TEST_CASE("an entry has at most a thousand resources") {
  std::vector<Device> devices;
  for (int i = 0; i < 1003; ++i) devices.push_back(device(std::to_string(i)));
  devices.push_back(device("0"));
  const Assembly assembly = assemble(named("example.com/{id}", "{id}-{n}"), std::move(devices));
  CHECK(assembly.resources.size() == 1000);
  CHECK(assembly.resources.at("example.com/0").size() == 2);
  CHECK_FALSE(assembly.resources.contains("example.com/1000"));
  CHECK(assembly.remarks.size() == 1);
  CHECK(remarked(assembly, "3 devices of further ones are left out"));
}

TEST_CASE("a list that is too long for one message is cut") {
  std::vector<Device> devices;
  for (int i = 0; i < 60'000; ++i) {
    const std::string digits = std::to_string(100'000 + i);
    devices.push_back(device(std::string(63 - digits.size(), 'x') + digits));
  }
  const std::string first = devices.front().id;
  const Assembly assembly = assemble(named("example.com/x"), std::move(devices));
  const std::vector<Device>& kept = assembly.resources.at("example.com/x");
  CHECK(kept.size() == kListLimit / wire_size(kept.front()));
  CHECK(kept.front().id == first);
  CHECK(remarked(assembly, "only " + std::to_string(kept.size()) + " of 60000 devices fit"));
  CHECK(remarked(assembly, "coarser unit"));
}

TEST_CASE("many remarks are counted, not listed") {
  std::vector<Device> devices;
  for (int i = 0; i < 50; ++i) devices.push_back(device("a " + std::to_string(i)));
  const Assembly assembly = assemble(named("example.com/x"), std::move(devices));
  CHECK(assembly.remarks.size() == 21);
  CHECK(assembly.remarks.back() == "and 30 more of this kind");
}

TEST_CASE("paths that are not UTF-8 are dropped, and their device is Unhealthy") {
  Device bad = device("bad");
  bad.nodes = {{"/dev/\xFF", "/dev/a", "rw"}, {"/dev/ok", "/dev/ok", "rw"}};
  bad.mounts = {{"/x", "/\xFF", true}, {"/y", "/{{y}}{n}", true}};
  Device sick = bad;
  sick.id = "sick";
  sick.error = "its own";
  const Assembly assembly = assemble(named("example.com/x"), {bad, sick});
  const std::vector<Device>& listed = assembly.resources.at("example.com/x");
  CHECK(listed[0].error.find("UTF-8") != std::string::npos);
  CHECK(listed[0].nodes == std::vector<DeviceNode>{{"/dev/ok", "/dev/ok", "rw"}});
  CHECK(listed[0].mounts == std::vector<Mount>{{"/y", "/{{y}}{n}", true}});
  CHECK(listed[1].error == "its own");
}

TEST_CASE("a container path that is an invalid template is dropped like an invalid path") {
  for (const char* path : {"/dev/{", "/dev/{serial}"}) {
    Device bad = device("bad");
    bad.nodes = {{"/dev/a", path, "rw"}};
    const Assembly assembly = assemble(named("example.com/x"), {bad});
    CHECK_FALSE(assembly.resources.at("example.com/x")[0].healthy());
    CHECK(assembly.resources.at("example.com/x")[0].nodes.empty());
  }
}

TEST_CASE("NUMA node -1 is never reported") {
  Device near = device("a");
  near.numa_nodes = {-1, 1};
  CHECK(assemble(named("example.com/x"), {near}).resources.at("example.com/x")[0].numa_nodes ==
        std::vector<int>{1});
}

TEST_CASE("any name that a file can have becomes a valid id") {
  std::vector<Device> devices;
  for (int byte = 1; byte < 256; ++byte)
    devices.push_back(device(std::string(1, static_cast<char>(byte)) + "x"));
  const Assembly assembly = assemble(named("example.com/x"), std::move(devices));
  CHECK(assembly.resources.at("example.com/x").size() == 255);
  for (const Device& each : assembly.resources.at("example.com/x")) CHECK(valid_utf8(each.id));
  for (const std::string& remark : assembly.remarks) CHECK(valid_utf8(remark));
}

TEST_CASE(
    "if a list is cut, new and Unhealthy devices are left out before Healthy devices that are already "
    "listed") {
  const std::string resource = "example.com/a";
  AllocationSpec spec;
  spec.name = Template(resource);
  std::vector<Device> listed;
  for (int i = 0; i < 100; ++i) listed.push_back({.id = "z-real-" + std::to_string(100 + i)});
  std::vector<Device> scanned = listed;
  scanned[0].error = "too hot";
  const std::vector<int> many_nodes(80, 3);  // so that fewer devices fill the message
  for (int i = 0; i < 20'000; ++i) {
    scanned.push_back({.id = "a-junk-" + std::to_string(1'000'000 + i), .numa_nodes = many_nodes});
    if (i % 2 == 0) scanned.back().error = "broken";
  }
  const auto kept_of = [&](const std::map<std::string, Inventory>& before) {
    return assemble(spec, scanned, before).resources.at(resource);
  };
  const auto count = [](const std::vector<Device>& kept, std::string_view beginning, bool healthy) {
    return std::ranges::count_if(kept, [&](const Device& device) {
      return device.id.starts_with(beginning) && device.healthy() == healthy;
    });
  };
  const std::vector<Device> kept = kept_of({{resource, Inventory(listed)}});
  CHECK(count(kept, "z-real", true) == 99);
  CHECK(count(kept, "z-real", false) == 1);
  CHECK(count(kept, "a-junk", true) > 9'000);
  std::size_t bytes = 0;
  for (const Device& device : kept) bytes += wire_size(device);
  CHECK(bytes <= kListLimit);
  CHECK(bytes + 2 * wire_size(scanned.back()) > kListLimit);
  // For a first list, Healthy devices have priority.
  const std::vector<Device> first = kept_of({});
  CHECK(count(first, "a-junk", true) == 10'000);
  CHECK(count(first, "z-real", true) == 99);
  CHECK(count(first, "z-real", false) == 0);
}

TEST_CASE("the computed size of the largest list includes the final ids and all replicas") {
  AllocationSpec spec;
  spec.name = Template("example.com/{type}");
  spec.id = Template("{type}-{n}");
  spec.replicas = 3;
  std::vector<Device> devices(3);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].id = "a name that is much longer";
    devices[i].replicas = 1000;
    devices[i].attributes = {{"type", i == 0 ? "small" : "big"}};
  }
  std::size_t big = 0;
  const Assembly assembly = assemble(spec, devices);
  for (const Device& each : assembly.resources.at("example.com/big")) {
    CHECK(each.replicas == 3000);
    CHECK(each.id.starts_with("big-"));
    big += wire_size(each);
  }
  CHECK(listed_size(spec, devices) == big);
  CHECK(listed_size(spec, {}) == 0);
}

std::shared_ptr<const DevicesOf> found(std::vector<Device> devices) {
  return std::make_shared<const DevicesOf>(DevicesOf{{"example.com/x", std::move(devices)}});
}

Device with_unit(std::string id, std::string unit) {
  Device made{.id = std::move(id)};
  made.hardware.edit().units = {std::move(unit)};
  return made;
}

Device with_node(std::string id, std::string node) {
  Device made{.id = std::move(id)};
  made.add_node(node);
  return made;
}

// Returns the ids of the second entry's devices if the first entry has the device `first`.
std::vector<std::string> beside(Device first, std::vector<Device> second, bool* left_out = nullptr) {
  const auto one = std::make_shared<const AllocationSpec>();
  const auto other = std::make_shared<const AllocationSpec>();
  const Assembly joint = join({{one, found({std::move(first)})}, {other, found(std::move(second))}});
  if (left_out) *left_out = remarked(joint, "is left out");
  std::vector<std::string> ids;
  for (const Device& each : joint.resources.at("example.com/x"))
    if (each.terms == other) ids.push_back(each.id);
  return ids;
}

TEST_CASE("the lists of several entries are one, sorted, and each device has its own entry's terms") {
  const auto one = std::make_shared<const AllocationSpec>();
  const auto other = std::make_shared<const AllocationSpec>();
  const Assembly joint = join({{one, found({device("b"), device("d")})},
                               {other, nullptr},
                               {other, found({device("a"), device("c")})}});
  CHECK(ids_of(joint) == std::vector<std::string>{"a", "b", "c", "d"});
  for (const Device& each : joint.resources.at("example.com/x"))
    CHECK(each.terms == (each.id == "b" || each.id == "d" ? one : other));
  CHECK(joint.remarks.empty());
}

TEST_CASE("entries may have resources that the others lack") {
  const auto terms = std::make_shared<const AllocationSpec>();
  const auto only = [](const char* resource, const char* id) {
    return std::make_shared<const DevicesOf>(DevicesOf{{resource, {device(id)}}});
  };
  const Assembly joint = join({{terms, only("x/a", "1")}, {terms, only("x/b", "1")}});
  CHECK(ids_of(joint, "x/a") == std::vector<std::string>{"1"});
  CHECK(ids_of(joint, "x/b") == std::vector<std::string>{"1"});
}

TEST_CASE(
    "hardware that two entries find is kept in the first, also if it is a part or the parent of the "
    "other's") {
  using Ids = std::vector<std::string>;
  bool left_out = true;
  for (const char* unit : {"/sys/devices/card", "/sys/devices/card/function", "/sys/devices"})
    CHECK(beside(with_unit("a", "/sys/devices/card"), {with_unit("b", unit), device("c")}, &left_out) ==
          Ids{"c"});
  CHECK_FALSE(left_out);
  for (const char* unit : {"/sys/devices/card2", "/sys/devices/car", "/sys/device", "/sys/devices/other"})
    CHECK(beside(with_unit("a", "/sys/devices/card"), {with_unit("b", unit)}) == Ids{"b"});
  // A unit that only marks exclusive use, such as an IOMMU group, does not count as hardware.
  CHECK(beside(with_unit("a", "iommu_groups/7"), {with_unit("b", "iommu_groups/7")}) == Ids{"b"});
}

TEST_CASE("a device is left out if a device of an earlier entry has the same nodes") {
  using Ids = std::vector<std::string>;
  CHECK(beside(with_node("a", "/dev/one"), {with_node("b", "/dev/one"), with_node("c", "/dev/two")}) ==
        Ids{"c"});
  Device two = with_node("b", "/dev/one");
  two.add_node("/dev/two");
  CHECK(beside(with_node("a", "/dev/one"), {two}) == Ids{"b"});
  CHECK(beside(device("a"), {device("b")}) == Ids{"b"});
}

TEST_CASE("within one entry devices may share hardware and nodes") {
  using Ids = std::vector<std::string>;
  CHECK(beside(device("a"), {with_unit("b", "/sys/devices/card"), with_unit("c", "/sys/devices/card")}) ==
        Ids{"b", "c"});
  CHECK(beside(device("a"), {with_node("b", "/dev/one"), with_node("c", "/dev/one")}) == Ids{"b", "c"});
}

TEST_CASE("a different device with the id of an earlier entry's is left out, with a remark") {
  bool left_out = false;
  CHECK(beside(with_unit("a", "/sys/devices/one"), {with_unit("a", "/sys/devices/two")}, &left_out).empty());
  CHECK(left_out);
  Device shared{.id = "a", .replicas = 3};
  CHECK(beside(shared, {device("a::2"), device("a::3")}, &left_out) == std::vector<std::string>{"a::3"});
  CHECK(left_out);
}

TEST_CASE("if the joined list is cut, new devices are left out, whichever entry found them") {
  std::vector<Device> many, more;
  for (int i = 0; i < 30'000; ++i) {
    many.push_back(device("a" + std::string(54, 'x') + std::to_string(10'000 + i)));
    more.push_back(device("b" + std::string(54, 'x') + std::to_string(10'000 + i)));
  }
  const auto terms = std::make_shared<const AllocationSpec>();
  const std::map<std::string, Inventory> listed{{"example.com/x", Inventory(more)}};
  const Assembly joint = join({{terms, found(many)}, {terms, found(more)}}, listed);
  const std::vector<Device>& kept = joint.resources.at("example.com/x");
  CHECK(remarked(joint, "of 60000 devices fit into one message"));
  CHECK(std::ranges::count_if(kept, [](const Device& each) { return each.id.starts_with('b'); }) == 30'000);
}

}  // namespace
}  // namespace plughost
