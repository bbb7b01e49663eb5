// Tests what is common to the cards of all vendors.

#include <doctest/doctest.h>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using Keys = GpuRig::Keys;
using Texts = std::vector<std::string>;

TEST_CASE("cards have their path in the tree of PCI bridges") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  const std::string above = kPciRoot + "0000:3a:00.0";
  rig.machine.device(above, "pci");
  rig.machine.device(above + "/0000:3b:00.0", "pci", {{"vendor", "0x10de"}, {"class", "0x030200"}});
  add_pci(rig.machine, "0000:05:00.0", "1002", "120000", "");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"0000:05:00.0", "GPU-a", "GPU-b"});
  CHECK(value(scan.devices[0], "pciPath") == "pci0000:00/0000:05:00.0");
  CHECK(value(scan.devices[1], "pciPath") == "pci0000:00/0000:3a:00.0/0000:3b:00.0");
  CHECK(value(scan.devices[2], "pciPath") == "(none)");
  CHECK(scan.devices[0].hardware->units == Texts{kPciRoot + "0000:05:00.0"});
  CHECK(scan.devices[1].hardware->units == Texts{above + "/0000:3b:00.0"});
  CHECK(scan.devices[2].hardware->units == Texts{"nvidia/GPU-b"});
}

TEST_CASE("with a unit of memory each card has as many units as its size") {
  const FakeNvml fake(kTwoCards + "card GPU-c memory=100\n");
  const GpuRig rig({{"unit", map({{"memory", text("1GiB")}})}});
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
  CHECK(scan.devices[0].replicas == 79);
  CHECK(scan.devices[1].replicas == 40);
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].starts_with("GPU-c is left out"));
  CHECK(allocation(scan, {}, {"GPU-a::0", "GPU-a::78"}).env.at("NVIDIA_VISIBLE_DEVICES") == "GPU-a");
}

TEST_CASE("with a unit of 10 % of the cores each card has 10 units") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({{"unit", map({{"cores", text("10")}})}});
  CHECK(rig.scan().devices.at(0).replicas == 10);
}

TEST_CASE("too small units are refused with the smallest ones that fit") {
  std::string cards;
  for (int i = 0; i < 16; ++i)
    cards += "card GPU-00000000-0000-0000-0000-0000000000" + std::to_string(10 + i) + " memory=81559\n";
  const FakeNvml fake(cards);
  const GpuRig rig({{"unit", map({{"memory", text("1MiB")}})}});
  CHECK_THROWS_WITH(
      rig.scan(),
      "with `unit: {memory: 1MiB}` the ids of this machine's cards do not fit into one message to the "
      "kubelet (4 MiB); 32MiB would fit");
  const GpuRig coarser({{"unit", map({{"memory", text("32MiB")}})}});
  std::size_t bytes = 0;
  for (const Device& device : coarser.scan().devices) bytes += wire_size(device);
  CHECK(bytes <= kListLimit);
}

ReplicaRule rule(const std::string& attribute, const std::string& pattern, unsigned replicas) {
  return {
      .devices = {{.attributes = {{attribute, {pattern}}}, .where = {}}}, .replicas = replicas, .where = {}};
}

TEST_CASE("cards that the entry leaves out need not fit into a list") {
  const FakeNvml fake("card GPU-a minor=0 memory=819200\ncard GPU-b minor=1 memory=16384\n");
  const GpuRig rig({{"unit", map({{"memory", text("1MiB")}})}});
  CHECK_THROWS(rig.scan());
  const Scan small = rig.scan({.only = {{.attributes = {{"memory", {"16384"}}}, .where = {}}}, .except = {}});
  REQUIRE(ids_of(small) == Texts{"GPU-b"});
  CHECK(small.devices[0].replicas == 16384);
}

TEST_CASE("a single card may have its own number of replicas, and with them a different resource name") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  AllocationSpec spec;
  spec.name = Template("nvidia.com/gpu");
  spec.replicas_of = {rule("uuid", "GPU-b", 4)};
  spec.rename_shared = true;
  const Assembly assembly = assemble(spec, rig.scan().devices);
  REQUIRE(assembly.resources.size() == 2);
  CHECK(assembly.resources.at("nvidia.com/gpu").at(0).id == "GPU-a");
  CHECK(assembly.resources.at("nvidia.com/gpu").at(0).replicas == 1);
  CHECK(assembly.resources.at("nvidia.com/gpu.shared").at(0).replicas == 4);
  spec.replicas_of = {rule("index", "1", 3), rule("id", "GPU-a", 2)};
  const Assembly by_index = assemble(spec, rig.scan().devices);
  REQUIRE(by_index.resources.size() == 1);
  CHECK(by_index.resources.at("nvidia.com/gpu.shared").at(1).replicas == 3);
}

TEST_CASE(
    "the units of 1 MiB of an 80 GB card fit into the list with short ids, and the error suggests these") {
  const FakeNvml fake("card GPU-00000000-0000-0000-0000-000000000010 memory=81559\n");
  const GpuRig rig({{"unit", map({{"memory", text("1MiB")}})}});
  CHECK_THROWS_WITH(
      rig.scan(),
      "with `unit: {memory: 1MiB}` the ids of this machine's cards do not fit into one message to the "
      "kubelet (4 MiB); 2MiB would fit, and so would shorter ids, as in `id: \"{index}\"`");
  AllocationSpec spec;
  spec.name = Template("nvidia.com/memory");
  for (const char* id : {"{index}", "{index}-{n}"}) {
    spec.id = Template(id);
    CHECK(rig.scan_for(spec).devices.at(0).replicas == 81559);
  }
  spec.replicas = 3;
  CHECK_THROWS(rig.scan_for(spec));
}

TEST_CASE("`spanCards` decides whether a container's units may be of several cards") {
  const auto units = [](Keys keys) { return GpuRig(std::move(keys)).source->units(); };
  const Node memory = map({{"memory", text("1GiB")}});
  const Node cores = map({{"cores", text("10")}});
  CHECK(units({}) == std::nullopt);
  CHECK(units({{"unit", memory}}) == SharesOf::kOneDevice);
  CHECK(units({{"unit", cores}}) == SharesOf::kOneDevice);
  CHECK(units({{"unit", cores}, {"spanCards", text("true")}}) == SharesOf::kAny);
}

TEST_CASE("the variables that an entry's cards may set are known without a scan") {
  const auto variables = [](Keys keys) {
    Texts names;
    for (const auto& spec : GpuRig(std::move(keys)).source->specs()) {
      for (const auto& pair : spec->env) names.push_back(pair.first.text());
    }
    return names;
  };
  CHECK(variables({}) == Texts{"NVIDIA_VISIBLE_DEVICES", "IX_VISIBLE_DEVICES"});
  CHECK(variables({{"vendor", text("nvidia")}, {"mps", text("true")}}) ==
        Texts{"CUDA_MPS_PIPE_DIRECTORY", "NVIDIA_VISIBLE_DEVICES"});
  CHECK(variables({{"vendor", text("iluvatar")}}) == Texts{"IX_VISIBLE_DEVICES"});
  CHECK(variables({{"vendor", text("amd")}}) == Texts{});
}

TEST_CASE("an error of a card is reported by each of two entries that list the card") {
  const FakeNvml fake(kTwoCards);
  const GpuRig whole({});
  const GpuRig cores({{"unit", map({{"cores", text("10")}})}});
  whole.scan();
  cores.scan();
  fake.show(kTwoCards + "event 1 0 8 79\n");
  for (const GpuRig* rig : {&whole, &cores}) {
    CHECK(rig->error("GPU-a").starts_with("XID 79"));
    CHECK(rig->error("GPU-b").empty());
  }
}

}  // namespace
}  // namespace plughost
