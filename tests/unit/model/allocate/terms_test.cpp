// Tests containers with devices of several entries that form one resource: for each device the settings of
// its own entry apply.

#include <doctest/doctest.h>

#include "model/allocate/allocation.hpp"
#include "model/allocate/cdi.hpp"

using namespace plughost;

namespace {

using Env = std::map<std::string, std::string>;
using Paths = std::vector<std::string>;

const std::string kResource = "example.com/net";

std::shared_ptr<AllocationSpec> terms() { return std::make_shared<AllocationSpec>(); }

Device device_with_spec(std::string id, std::shared_ptr<const AllocationSpec> its) {
  Device made{.id = std::move(id), .terms = std::move(its)};
  made.add("name", made.id);
  return made;
}

Allocation given_devices(const std::vector<Device>& devices, const std::vector<std::string>& ids) {
  auto answer = allocate(kResource, *devices.front().terms, Inventory(devices), ids);
  const Refusal* const refusal = std::get_if<Refusal>(&answer);
  REQUIRE_MESSAGE(!refusal, (refusal ? refusal->text : ""));
  return std::get<Allocation>(answer);
}

Paths container_paths(const auto& things) {
  Paths paths;
  for (const auto& thing : things) paths.push_back(thing.container_path);
  return paths;
}

}  // namespace

TEST_CASE("each device is given with the settings of its own entry") {
  const auto rdma = terms(), vfio = terms();
  rdma->env = {{Template("RDMA"), Template("{id}")}};
  rdma->mounts = {{.host_path = Template("/etc/rdma"), .container_path = Template("/etc/rdma")}};
  vfio->env = {{Template("VFIO"), Template("{id}")}};
  vfio->annotations = {{Template("example.com/vfio"), Template("{id}")}};
  vfio->nodes = {{.host_path = Template("/dev/vfio/vfio"), .container_path = Template("/dev/vfio/vfio")}};
  const std::vector<Device> devices{device_with_spec("a", rdma), device_with_spec("b", vfio),
                                    device_with_spec("c", rdma)};
  const Allocation of_one = given_devices(devices, {"b"});
  CHECK(of_one.env == Env{{"VFIO", "b"}});
  CHECK(of_one.mounts.empty());
  CHECK(container_paths(of_one.nodes) == Paths{"/dev/vfio/vfio"});
  const Allocation of_both = given_devices(devices, {"c", "b", "a"});
  CHECK(of_both.env == Env{{"RDMA", "c,a"}, {"VFIO", "b"}});
  CHECK(of_both.annotations == Env{{"example.com/vfio", "b"}});
  CHECK(container_paths(of_both.mounts) == Paths{"/etc/rdma"});
  CHECK(container_paths(of_both.nodes) == Paths{"/dev/vfio/vfio"});
}

TEST_CASE("equal settings of several entries are applied to all their devices, in the container's order") {
  const auto one = terms(), other = terms();
  one->env = {{Template("CARDS"), Template("{id}")}, {Template("ALL"), Template("{count}")}};
  other->env = one->env;
  const std::vector<Device> devices{device_with_spec("a", one), device_with_spec("b", other),
                                    device_with_spec("c", one)};
  CHECK(given_devices(devices, {"b", "c", "a"}).env == Env{{"ALL", "3"}, {"CARDS", "b,c,a"}});
}

TEST_CASE("different values of one name in several entries are refused") {
  const auto one = terms(), other = terms();
  one->env = {{Template("CARDS"), Template("{id}")}};
  other->env = {{Template("CARDS"), Template("card {id}")}};
  const std::vector<Device> devices{device_with_spec("a", one), device_with_spec("b", other)};
  CHECK(given_devices(devices, {"b"}).env == Env{{"CARDS", "card b"}});
  const auto answer = allocate(kResource, *one, Inventory(devices), std::vector<std::string>{"a", "b"});
  REQUIRE(std::holds_alternative<Refusal>(answer));
  CHECK(std::get<Refusal>(answer).text.find("CARDS would be both \"a\" and \"card b\"") != std::string::npos);
}

TEST_CASE("{n} is a device's position among all devices of the container, including those of other entries") {
  const auto one = terms(), other = terms();
  one->nodes = {{.host_path = Template("/dev/{name}"), .container_path = Template("/dev/port{n}")}};
  other->mounts = {{.host_path = Template("/sys/{name}"), .container_path = Template("/ports/{n}")}};
  const std::vector<Device> devices{device_with_spec("a", one), device_with_spec("b", other),
                                    device_with_spec("c", one), device_with_spec("d", other)};
  const Allocation all = given_devices(devices, {"d", "c", "b", "a"});
  CHECK(container_paths(all.nodes) == Paths{"/dev/port1", "/dev/port3"});
  CHECK(all.nodes.back().host_path == "/dev/a");
  CHECK(container_paths(all.mounts) == Paths{"/ports/0", "/ports/2"});
}

TEST_CASE("a setting that is equal in two entries' kinds applies once, for the devices of both") {
  const auto spec = [] {
    const auto made = std::make_shared<KindSpec>();
    made->env = {{Template("VISIBLE"), Template("{id}")}};
    return made;
  };
  std::vector<Device> devices{device_with_spec("a", terms()), device_with_spec("b", terms())};
  for (Device& each : devices) each.spec = spec();
  CHECK(given_devices(devices, {"a", "b"}).env == Env{{"VISIBLE", "a,b"}});
}

TEST_CASE("devices of one entry can be given by CDI name, and those of the other in the response itself") {
  const auto by_name = terms(), itself = terms();
  by_name->cdi = CdiNames::kCri;
  by_name->env = {{Template("A_{id}"), Template("named")}};
  itself->env = {{Template("B_{id}"), Template("itself")}};
  std::vector<Device> devices{device_with_spec("a", by_name), device_with_spec("b", itself)};
  for (Device& each : devices) each.add_node("/dev/" + each.id);
  const Allocation both = given_devices(devices, {"a", "b"});
  CHECK(both.cdi == Paths{"example.com/net=a"});
  CHECK(container_paths(both.nodes) == Paths{"/dev/b"});
  CHECK(both.env == Env{{"B_b", "itself"}});
  // The result does not depend on which entry is the resource's first.
  for (const auto& first : {by_name, itself}) {
    const std::string specification = cdi_specification(kResource, *first, Inventory(devices));
    CHECK(specification.find("/dev/a") != std::string::npos);
    CHECK(specification.find("A_a=named") != std::string::npos);
    CHECK(specification.find("/dev/b") == std::string::npos);
  }
}
