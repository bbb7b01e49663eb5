#include "model/allocate/allocation.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

Device device(std::string id, std::vector<Attribute> attributes = {}) {
  Device made;
  made.id = std::move(id);
  made.attributes = std::move(attributes);
  return made;
}

AllocationSpec with_env(std::string_view name, std::string_view value) {
  AllocationSpec spec;
  spec.env = {{Template(name), Template(value)}};
  return spec;
}

Allocation given(const AllocationSpec& spec, std::vector<Device> devices, const std::vector<std::string>& ids,
                 std::string_view resource = "example.com/gpu") {
  auto answer = allocate(resource, spec, Inventory(std::move(devices)), ids);
  const Refusal* refusal = std::get_if<Refusal>(&answer);
  REQUIRE_MESSAGE(!refusal, (refusal ? refusal->text : ""));
  return std::get<Allocation>(answer);
}

Refusal refused(const AllocationSpec& spec, std::vector<Device> devices,
                const std::vector<std::string>& ids) {
  auto answer = allocate("example.com/gpu", spec, Inventory(std::move(devices)), ids);
  REQUIRE(std::holds_alternative<Refusal>(answer));
  return std::get<Refusal>(answer);
}

std::vector<Device> ten(const std::string& resource) {
  std::vector<Device> devices;
  for (int n = 0; n < 10; ++n) devices.push_back(device(resource + '-' + std::to_string(n)));
  return devices;
}

TEST_CASE("the first users' simulated GPUs get the variables that are stored in their kubelet's checkpoint") {
  const std::string gpu = "nicktming.com/gpu";
  const std::string rdma = "nicktming.com/rdma";
  const AllocationSpec per_resource = with_env("NVIDIA_VISIBLE_DEVICES/{resource}", "{id}");
  // The pod testpod-gpu2-rdma10 of tests/golden/checkpoint-two-resources.json.
  CHECK(given(per_resource, ten(gpu), {gpu + "-0", gpu + "-4"}, gpu).env ==
        std::map<std::string, std::string>{
            {"NVIDIA_VISIBLE_DEVICES/nicktming.com/gpu", "nicktming.com/gpu-0,nicktming.com/gpu-4"}});
  std::vector<std::string> ids;
  std::string joined;
  for (const char n : std::string("4273950168")) {
    ids.push_back(rdma + '-' + n);
    joined += (joined.empty() ? "" : ",") + ids.back();
  }
  CHECK(given(per_resource, ten(rdma), ids, rdma).env ==
        std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES/nicktming.com/rdma", joined}});
  // The pod podtest-8.
  CHECK(given(with_env("NVIDIA_VISIBLE_DEVICES", "{id}"), ten(gpu), {gpu + "-2", gpu + "-3", gpu + "-7"}, gpu)
            .env.at("NVIDIA_VISIBLE_DEVICES") ==
        "nicktming.com/gpu-2,nicktming.com/gpu-3,nicktming.com/gpu-7");
}

TEST_CASE("a device's text cannot lead out of the configured directory") {
  AllocationSpec spec;
  spec.mounts = {{.host_path = Template("/srv/{serial}"), .container_path = Template("/dongle")}};
  CHECK(given(spec, {device("a", {{"serial", "a1"}})}, {"a"}).mounts.at(0).host_path == "/srv/a1");
  const Refusal refusal = refused(spec, {device("a", {{"serial", "../../etc"}})}, {"a"});
  CHECK(refusal.reason == Refusal::Reason::kConflict);
  CHECK(refusal.text ==
        "resource example.com/gpu: device \"a\": its {serial} is \"../../etc\", which leads to a different "
        "directory and cannot be in a path; use a different attribute there");
  // A path in the container is checked in the same way.
  AllocationSpec inside;
  inside.nodes = {{.host_path = Template("/dev/null"), .container_path = Template("/dev/{serial}")}};
  CHECK(refused(inside, {device("a", {{"serial", "x/y"}})}, {"a"}).reason == Refusal::Reason::kConflict);
  // A variable's value is not checked, because it is no path.
  CHECK(given(with_env("SERIAL", "{serial}"), {device("a", {{"serial", "x/y"}})}, {"a"}).env.at("SERIAL") ==
        "x/y");
}

TEST_CASE("a value joins the devices' values in the requested order") {
  const std::vector<Device> devices = {device("a", {{"serial", "A"}}), device("b", {{"serial", "B"}})};
  const Allocation allocation = given(with_env("X", "{count}:{id}:{serial}:{n}"), devices, {"b", "a"});
  CHECK(allocation.env.at("X") == "2:b,a:B,A:0,1");
}

TEST_CASE("the resource's name can be a part of a variable's name") {
  CHECK(
      given(with_env("X_{resourceEnv}", "{id}"), {device("a"), device("b")}, {"a", "b"}, "a.b-c/D_9.e").env ==
      std::map<std::string, std::string>{{"X_A_B_C_D_9_E", "a,b"}});
}

TEST_CASE("a variable whose name has a device's placeholder is set once per device") {
  const Allocation allocation =
      given(with_env("X_{n}", "{id} of {count}"), {device("a"), device("b")}, {"b", "a"});
  CHECK(allocation.env == std::map<std::string, std::string>{{"X_0", "b of 2"}, {"X_1", "a of 2"}});
}

TEST_CASE("replicas of one device count as that device once") {
  Device shared = device("gpu");
  shared.replicas = 4;
  const Allocation allocation =
      given(with_env("X", "{count}:{id}"), {shared, device("z")}, {"gpu::3", "z", "gpu::0"});
  CHECK(allocation.env.at("X") == "2:gpu,z");
}

TEST_CASE(
    "a device adds its nodes and mounts, and {n} in a path is the device's position in the allocation") {
  Device a = device("a");
  a.nodes = {{"/dev/ttyUSB0", "/dev/modem{n}", "rw"}, {"/dev/ctl", "/dev/ctl", "r"}};
  a.mounts = {{"/etc/a{}", "/etc/{{x}}{n}", true}};
  Device b = a;
  b.id = "b";
  b.nodes[0].host_path = "/dev/ttyUSB1";
  const Allocation allocation = given({}, {a, b}, {"b", "a"});
  CHECK(allocation.nodes == std::vector<ContainerNode>{{"/dev/ttyUSB1", "/dev/modem0", "rw"},
                                                       {"/dev/ctl", "/dev/ctl", "r"},
                                                       {"/dev/ttyUSB0", "/dev/modem1", "rw"}});
  CHECK(allocation.mounts ==
        std::vector<ContainerMount>{{"/etc/a{}", "/etc/{x}0", true}, {"/etc/a{}", "/etc/{x}1", true}});
}

TEST_CASE(
    "an entry's node or mount is added once, or once per device if its path has a device's placeholder") {
  AllocationSpec spec;
  spec.nodes = {{Template("/dev/ctl"), Template("/dev/ctl"), "rw"},
                {Template("/dev/{id}"), Template("/dev/x{n}"), "r"}};
  spec.mounts = {{Template("/var/lib/{resource}"), Template("/data"), false}};
  spec.annotations = {{Template("example.com/ids"), Template("{id}")}};
  const Allocation allocation = given(spec, {device("a"), device("b")}, {"a", "b"});
  CHECK(allocation.nodes == std::vector<ContainerNode>{{"/dev/ctl", "/dev/ctl", "rw"},
                                                       {"/dev/a", "/dev/x0", "r"},
                                                       {"/dev/b", "/dev/x1", "r"}});
  CHECK(allocation.mounts == std::vector<ContainerMount>{{"/var/lib/example.com/gpu", "/data", false}});
  CHECK(allocation.annotations.at("example.com/ids") == "a,b");
}

TEST_CASE("the same request has the same response") {
  AllocationSpec spec = with_env("X_{id}", "{n}");
  spec.mounts = {{Template("/{id}"), Template("/{n}"), false}};
  const std::vector<std::string> ids = {"b", "c", "a"};
  const std::vector<Device> devices = {device("a"), device("b"), device("c")};
  CHECK(given(spec, devices, ids) == given(spec, devices, ids));
}

TEST_CASE("an unknown id is refused with the number of devices") {
  const Refusal refusal = refused({}, {device("a"), device("b"), device("c")}, {"a", "x"});
  CHECK(refusal.reason == Refusal::Reason::kUnknownDevice);
  CHECK(refusal.text == "resource example.com/gpu has no device \"x\"; it lists 3 devices now");
}

TEST_CASE("an Unhealthy device is refused with its reason") {
  Device sick = device("a");
  sick.error = "it is gone";
  const Refusal refusal = refused({}, {sick}, {"a"});
  CHECK(refusal.reason == Refusal::Reason::kUnhealthyDevice);
  CHECK(refusal.text == "device \"a\" of example.com/gpu is Unhealthy: it is gone");
}

TEST_CASE("a replica that is held elsewhere is refused, and the device's other replicas are given") {
  Device gpu = device("a");
  gpu.replicas = 3;
  gpu.reasons = {Reason::holder("held by a/b", {1})};
  const Refusal refusal = refused({}, {gpu}, {"a::0", "a::1"});
  CHECK(refusal.reason == Refusal::Reason::kUnhealthyDevice);
  CHECK(refusal.text == "device \"a::1\" of example.com/gpu is Unhealthy: held by a/b");
  CHECK_NOTHROW(given({}, {gpu}, {"a::0", "a::2"}));
}

TEST_CASE("two nodes with one path in the container are refused, and the error names both") {
  Device a = device("a");
  a.nodes = {{"/dev/ttyUSB0", "/dev/modem", "rw"}};
  Device b = device("b");
  b.nodes = {{"/dev/ttyUSB1", "/dev/modem", "rw"}};
  const Refusal refusal = refused({}, {a, b}, {"a", "b"});
  CHECK(refusal.reason == Refusal::Reason::kConflict);
  CHECK(refusal.text ==
        "resource example.com/gpu: /dev/modem in the container would be both device /dev/ttyUSB0 (rw) and "
        "device /dev/ttyUSB1 (rw); put {n} into the container path, so that each has its own");
  CHECK(given({}, {a, b}, {"b"}).nodes == std::vector<ContainerNode>{{"/dev/ttyUSB1", "/dev/modem", "rw"}});
}

TEST_CASE("{n} counts the nodes of one pattern if a device has several, and otherwise the devices") {
  const auto paths = [](const Allocation& allocation) {
    std::vector<std::string> paths;
    for (const ContainerNode& node : allocation.nodes) paths.push_back(node.container_path);
    for (const ContainerMount& mount : allocation.mounts) paths.push_back(mount.container_path);
    return paths;
  };
  using Paths = std::vector<std::string>;
  Device modem = device("a");
  modem.nodes = {
      {"/dev/ttyUSB0", "/dev/modem{n}"}, {"/dev/ttyUSB1", "/dev/modem{n}"}, {"/dev/x0", "/dev/x{n}"}};
  Device other = device("b");
  other.nodes = {{"/dev/ttyUSB2", "/dev/modem{n}"}, {"/dev/x1", "/dev/x{n}"}};
  other.mounts = {{"/srv/1", "/srv/{n}"}, {"/srv/2", "/srv/{n}"}};
  CHECK(paths(given({}, {modem, other}, {"a", "b"})) ==
        Paths{"/dev/modem0", "/dev/modem1", "/dev/x0", "/dev/modem2", "/dev/x1", "/srv/0", "/srv/1"});
  CHECK(paths(given({}, {modem, other}, {"b"})) == Paths{"/dev/modem0", "/dev/x0", "/srv/0", "/srv/1"});
  // A device without such a node still takes a number.
  modem.nodes = {{"/dev/x0", "/dev/x{n}"}};
  const Device none = device("b");
  Device last = device("c");
  last.nodes = {{"/dev/x2", "/dev/x{n}"}};
  CHECK(paths(given({}, {modem, none, last}, {"a", "b", "c"})) == Paths{"/dev/x0", "/dev/x2"});
}

TEST_CASE("a mount and a node at one path are refused") {
  Device a = device("a");
  a.nodes = {{"/dev/x", "/x", "rw"}};
  a.mounts = {{"/dev/x", "/x", false}};
  CHECK(refused({}, {a}, {"a"}).text.find("device /dev/x (rw) and mount /dev/x (read-write)") !=
        std::string::npos);
}

TEST_CASE("one variable or annotation with two values is refused") {
  const std::vector<Device> devices = {device("a", {{"bus", "1"}}), device("b", {{"bus", "1"}})};
  CHECK(refused(with_env("X_{bus}", "{id}"), devices, {"a", "b"}).text ==
        "resource example.com/gpu: the environment variable X_1 would be both \"a\" and \"b\"; put {n} into "
        "its name, so that each has its own");
  CHECK(given(with_env("X_{bus}", "{bus}"), devices, {"a", "b"}).env.size() == 1);
  AllocationSpec annotated;
  annotated.annotations = {{Template("k"), Template("1")}, {Template("k"), Template("2")}};
  CHECK(refused(annotated, devices, {"a"}).text.find("the annotation k would be both") != std::string::npos);
}

TEST_CASE("a placeholder that a device has no value for is refused with its name") {
  const std::vector<Device> devices = {device("a", {{"serial", "A"}}), device("b")};
  CHECK(refused(with_env("X", "{serial}"), devices, {"a", "b"}).text ==
        "resource example.com/gpu: device \"b\" has no {serial}, which this resource's configuration needs");
  CHECK(given(with_env("X", "{serial}"), devices, {"a"}).env.at("X") == "A");
}

TEST_CASE("text that is not UTF-8 is refused without repeating it") {
  const std::vector<Device> devices = {device("a", {{"serial", "A\xFF"}})};
  CHECK(refused(with_env("X", "{serial}"), devices, {"a"}).text ==
        "resource example.com/gpu: \"{serial}\" gives text that is not UTF-8");
  Device bad = device("a");
  bad.nodes = {{"/dev/\xFF", "/dev/x", "rw"}};
  CHECK(refused({}, {bad}, {"a"}).text == "resource example.com/gpu: a path of a device is not UTF-8 text");
}

TEST_CASE("a name that cannot be a variable's is refused") {
  const std::vector<Device> devices = {device("a", {{"path", "x=y"}, {"empty", ""}})};
  CHECK(refused(with_env("{path}", "1"), devices, {"a"}).text.find("\"x=y\" cannot be") != std::string::npos);
  CHECK(refused(with_env("{empty}", "1"), devices, {"a"}).text.find("\"\" cannot be") != std::string::npos);
}

TEST_CASE("the variables of two devices must have different names, for example by {n}, or the same value") {
  const auto disk = [](const char* id, const char* name, const char* value) {
    Device made = device(id);
    made.env = {{.name = name, .value = value}};
    return made;
  };
  CHECK(given({}, {disk("a", "DISK_{n}", "1"), disk("b", "DISK_{n}", "2")}, {"b", "a"}).env ==
        std::map<std::string, std::string>{{"DISK_0", "2"}, {"DISK_1", "1"}});
  CHECK(given({}, {disk("a", "V", "{x}"), disk("b", "V", "{x}")}, {"a", "b"}).env ==
        std::map<std::string, std::string>{{"V", "{x}"}});
  const Refusal refusal = refused({}, {disk("a", "V", "1"), disk("b", "V", "2")}, {"a", "b"});
  CHECK(refusal.reason == Refusal::Reason::kConflict);
  CHECK(refusal.text.find("environment variable V would be both \"1\" and \"2\"") != std::string::npos);
}

Device card(const std::string& uuid, unsigned units) {
  Device made = device("card of " + uuid, {{"uuid", uuid}});
  made.replicas = units;
  return made;
}

Device shared_disk(const std::string& id, unsigned replicas) {
  Device made = device(id, {});
  made.replicas = replicas;
  return made;
}

AllocationSpec of_units(SharesOf shares) {
  AllocationSpec spec = with_env("V", "{uuid}");
  spec.units = true;
  spec.shares = shares;
  return spec;
}

TEST_CASE("units of several cards are refused with the free units of each") {
  const std::vector<Device> cards{card("GPU-a", 4), card("GPU-b", 8)};
  const std::vector<std::string> ids{"card of GPU-b::7", "card of GPU-a::0", "card of GPU-b::0"};
  const Refusal refusal = refused(of_units(SharesOf::kOneDevice), cards, ids);
  CHECK(refusal.reason == Refusal::Reason::kOtherShares);
  CHECK(
      refusal.text ==
      "the units of a container are one card's, and of example.com/gpu it would get 2 of GPU-b, 1 of GPU-a; "
      "request no more than one card has free, or set `spanCards: true` in the entry's `gpu` if a container "
      "may have several cards");
  CHECK(given(of_units(SharesOf::kOneDevice), cards, {ids[0], ids[2]}).env.at("V") == "GPU-b");
  CHECK(given(of_units(SharesOf::kAny), cards, ids).env.at("V") == "GPU-b,GPU-a");
}

TEST_CASE("replicas that `shares` forbids for one container are refused, with their devices") {
  const std::vector<Device> disks{shared_disk("a", 4), shared_disk("b", 4)};
  AllocationSpec spec = with_env("V", "{id}");
  CHECK(given(spec, disks, {"a::3", "b::0", "a::1"}).env.at("V") == "a,b");

  spec.shares = SharesOf::kOneDevice;
  CHECK(given(spec, disks, {"a::3", "a::1"}).env.at("V") == "a");
  const Refusal several = refused(spec, disks, {"a::3", "b::0", "a::1"});
  CHECK(several.reason == Refusal::Reason::kOtherShares);
  CHECK(several.text ==
        "the shares of a container are one device's (`shares: oneDevice`), and of example.com/gpu it would "
        "get 2 of a, 1 of b; request no more than one device has free");

  spec.shares = SharesOf::kDifferentDevices;
  CHECK(given(spec, disks, {"b::3", "a::1"}).env.at("V") == "b,a");
  CHECK(given(spec, disks, {"b::3"}).env.at("V") == "b");
  const Refusal twice = refused(spec, disks, {"a::3", "b::0", "a::1"});
  CHECK(twice.reason == Refusal::Reason::kOtherShares);
  CHECK(twice.text ==
        "the shares of a container are of different devices (`shares: differentDevices`), and of "
        "example.com/gpu it would get 2 of a, 1 of b; request no more than there are devices with a free "
        "share");
}

TEST_CASE("templates can have the units of the container, of its card and of all listed cards") {
  AllocationSpec spec = of_units(SharesOf::kAny);
  spec.env = {{Template("OF_{uuid}"), Template("{units} of {cardUnits}, {totalUnits}")}};
  spec.annotations = {{Template("x/units"), Template("{units}/{cardUnits}/{totalUnits}")}};
  const std::vector<Device> cards{card("GPU-a", 4), card("GPU-b", 8)};
  const std::vector<std::string> ids{"card of GPU-b::7", "card of GPU-b::0", "card of GPU-b::3"};
  for (const CdiNames cdi : {CdiNames::kNone, CdiNames::kCri}) {
    spec.cdi = cdi;
    const Allocation allocation = given(spec, cards, ids);
    // Such a value is not in the CDI specification, because it is known only at the Allocate.
    CHECK(allocation.env == std::map<std::string, std::string>{{"OF_GPU-b", "3 of 8, 12"}});
    CHECK(allocation.annotations.at("x/units") == "3/8/12");
  }
  CHECK(given(spec, cards, {"card of GPU-b::7", "card of GPU-a::1"}).annotations.at("x/units") == "2/8,4/12");
}

TEST_CASE("with assume a template may name the container's pod, and a specification may not") {
  AllocationSpec spec = of_units(SharesOf::kAny);
  spec.cdi = CdiNames::kCri;
  spec.env = {{Template("{pod}"), Template("{namespace}/{pod} {podUnits}")},
              {Template("OF_{uuid}"), Template("{pod}")},
              {Template("ID_{uuid}"), Template("{uuid}")}};
  const Device gpu = card("GPU-a", 4);
  const UnitCounts units{
      .of_container = 1, .total = 4, .pod = UnitsPod{.name_space = "team", .name = "trainer", .units = 7}};
  CHECK(std::get<Refusal>(allocate_device("example.com/gpu", spec, gpu, units)).text.find("has no {pod}") !=
        std::string::npos);
  spec.assume.emplace();
  const auto answer = std::get<Allocation>(allocate_device("example.com/gpu", spec, gpu, units));
  CHECK(answer.env ==
        std::map<std::string, std::string>{{"trainer", "team/trainer 7"}, {"OF_GPU-a", "trainer"}});
  CHECK(answer.by_cdi.env == std::map<std::string, std::string>{{"ID_GPU-a", "GPU-a"}});
  spec.env[0].first = Template("NAME");  // a CDI specification is written before the pod exists
  CHECK(cdi_edits("example.com/gpu", spec, gpu).env ==
        std::map<std::string, std::string>{{"ID_GPU-a", "GPU-a"}});
}

TEST_CASE(
    "a scheduler's device is given with the dialect's variables, and contradicting variables are refused") {
  AllocationSpec spec = with_env("WHO", "{id}");
  Device sick = device("a");
  sick.error = "sick";
  const auto answer = allocate_device("example.com/gpu", spec, sick, {}, Allocation{.env = {{"CARD", "1"}}});
  CHECK(std::get<Allocation>(answer).env == std::map<std::string, std::string>{{"CARD", "1"}, {"WHO", "a"}});
  const Allocation other{.env = {{"WHO", "b"}}};
  const auto by_program = allocate_device("example.com/gpu", spec, sick, {}, other);
  CHECK(std::get<Refusal>(by_program).text.find("the program of allocate contradicts") != std::string::npos);
  spec.assume.emplace();
  const auto by_dialect = allocate_device("example.com/gpu", spec, sick, {}, other);
  CHECK(std::get<Refusal>(by_dialect).text.find("what the dialect of assume sets contradicts") !=
        std::string::npos);
}

TEST_CASE("for resources without units, attributes may be named like the units' placeholders") {
  const AllocationSpec spec = with_env("V", "{units}-{cardUnits}-{totalUnits}");
  const Device odd = device("a", {{"units", "u"}, {"cardUnits", "c"}, {"totalUnits", "t"}});
  CHECK(given(spec, {odd}, {"a"}).env.at("V") == "u-c-t");
  CHECK(refused(spec, {device("a")}, {"a"}).text.find("has no {units}") != std::string::npos);
}

}  // namespace
}  // namespace plughost
