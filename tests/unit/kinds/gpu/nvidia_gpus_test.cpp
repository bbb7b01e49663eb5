// Tests NVIDIA's cards with NVML: which cards and MIG devices are listed.

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

TEST_CASE("NVIDIA's cards are found by NVML, each with what a template can name") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({{"vendor", text("nvidia")}});
  add_pci(rig.machine, "0000:3b:00.0", "10de", "030200", "nvidia");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
  const Device& card = scan.devices[0];
  CHECK(card.healthy());
  CHECK(card.nodes.empty());
  CHECK(card.numa_nodes == std::vector{1});
  CHECK(value(card, "index") == "0");
  CHECK(value(card, "minor") == "3");
  CHECK(value(card, "path") == "/dev/nvidia3");
  CHECK(value(card, "pci") == "0000:3b:00.0");
  CHECK(value(card, "name") == "NVIDIA H100");
  CHECK(value(card, "memory") == "81559");
  CHECK(value(card, "type") == "gpu");
  CHECK(value(card, "profile") == "(none)");
  CHECK(scan.rescan_after == 5s);
  CHECK(scan.remarks.empty());
}

TEST_CASE("NVML is opened when the driver is loaded later, and closed when the driver is unloaded") {
  const FakeNvml fake("fail nvmlInit_v2 9\n");
  const GpuRig rig({});
  CHECK(rig.scan().devices.empty());
  fake.show(kTwoCards);
  CHECK(rig.scan().devices.size() == 2);
  CHECK(fake.in_use());
  fake.show("fail nvmlInit_v2 9\nfail nvmlDeviceGetCount_v2 1\n");
  CHECK(rig.scan().devices.empty());
  CHECK_FALSE(fake.in_use());
  fake.show(kTwoCards);
  CHECK(rig.scan().devices.size() == 2);
}

TEST_CASE("NVML is closed when a card is unbound from the driver, and when no entry uses it any more") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  add_pci(rig.machine, "0000:86:00.0", "10de", "030200", "nvidia");
  CHECK(rig.scan().devices.size() == 2);
  CHECK(fake.in_use());
  fake.show("fail nvmlInit_v2 9\n");
  rig.machine.bind(kPciRoot + "0000:86:00.0", "vfio-pci");
  rig.scan();
  CHECK_FALSE(fake.in_use());
  fake.show(kTwoCards);
  rig.scan();
  CHECK(fake.in_use());
  rig.source.reset();
  CHECK(NvidiaGpus::all_let_go(std::chrono::seconds(10)));
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("at rest NVML is closed, and its last cards are Unhealthy until it reports them again") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  SUBCASE("if the rest begins after a scan") { REQUIRE(rig.scan().devices.size() == 2); }
  SUBCASE("if the rest begins before the first scan, which still reads the cards") {
    rig.source->rest(true);
    REQUIRE(rig.scan().devices.size() == 2);
  }
  rig.source->rest(true);
  CHECK(NvidiaGpus::all_let_go(10s));
  CHECK_FALSE(fake.in_use());
  fake.show("fail nvmlInit_v2 9\n");  // the driver is unloaded
  CHECK(rig.scan().rescan_after == 0s);
  CHECK(rig.error("GPU-a") == "NVML is closed while all of the cards are drained");
  CHECK(rig.error("GPU-b") == rig.error("GPU-a"));
  fake.show("card GPU-b minor=0\n");
  rig.source->rest(false);
  CHECK(rig.error("GPU-a") == "not listed");
  CHECK(rig.error("GPU-b").empty());
  CHECK(fake.in_use());
}

TEST_CASE("if the rest begins during a scan, rest() does not wait, and NVML is closed at the scan's end") {
  const FakeNvml fake(kTwoCards + "hang nvmlDeviceGetUUID\n");
  const GpuRig rig({});
  auto look = std::async(std::launch::async, [&] { return rig.scan().devices.size(); });
  while (!fake.in_use()) std::this_thread::yield();
  rig.source->rest(true);
  CHECK(fake.in_use());
  fake.show(kTwoCards);
  CHECK(look.get() == 2);
  CHECK(NvidiaGpus::all_let_go(10s));
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("the end of an entry does not wait for a driver that hangs while NVML is closed") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  REQUIRE(rig.scan().devices.size() == 2);
  fake.show(kTwoCards + "hang nvmlShutdown\n");
  const auto begin = std::chrono::steady_clock::now();
  rig.source.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(400));
  CHECK_FALSE(NvidiaGpus::all_let_go(50ms));
  CHECK(fake.in_use());
  fake.show(kTwoCards);
  CHECK(NvidiaGpus::all_let_go(10s));
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("`mig: mixed` lists the MIG devices of divided cards, and the other cards whole") {
  const FakeNvml fake(kDividedCards);
  const GpuRig rig({{"mig", text("mixed")}, {"passDeviceSpecs", text("true")}});
  rig.machine.tree().file("/proc/driver/nvidia-caps/mig-minors",
                          "config 1\ngpu3/gi7/access 66\ngpu3/gi7/ci0/access 67\ngpu3/gi8/access 75\n");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"MIG-x", "MIG-y", "GPU-b"});
  CHECK(value(scan.devices[0], "type") == "mig-1g.5gb");
  CHECK(value(scan.devices[1], "type") == "mig-1g.10gb.me");
  CHECK(value(scan.devices[2], "type") == "gpu");
  CHECK(value(scan.devices[1], "index") == "0:1");
  CHECK(value(scan.devices[0], "memory") == "4864");
  CHECK(nodes_of(scan.devices[0]) ==
        Texts{"/dev/nvidia3", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"});

  AllocationSpec spec;
  spec.name = Template("nvidia.com/{type}");
  const Assembly assembly = assemble(spec, scan.devices);
  Texts names;
  for (const auto& [name, devices] : assembly.resources) names.push_back(name);
  CHECK(names == Texts{"nvidia.com/gpu", "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-1g.5gb"});
  const auto answer = allocate("nvidia.com/mig-1g.5gb", spec,
                               Inventory(assembly.resources.at("nvidia.com/mig-1g.5gb")), Texts{"MIG-x"});
  CHECK(std::get<Allocation>(answer).env.at("NVIDIA_VISIBLE_DEVICES") == "MIG-x");
}

TEST_CASE("a change of MIG devices is found by the next scan") {
  const FakeNvml fake("card GPU-a mig=0\n");
  const GpuRig rig({{"mig", text("mixed")}});
  CHECK(ids_of(rig.scan()) == Texts{"GPU-a"});
  fake.show("card GPU-a mig=1\nmig 0 MIG-x gi=1 name=A_MIG_1g.5gb\n");
  CHECK(ids_of(rig.scan()) == Texts{"MIG-x"});
}

TEST_CASE(
    "`mig: single` lists MIG devices of one profile, and reports an error if there are several profiles") {
  const FakeNvml fake("card GPU-a mig=1\nmig 0 MIG-x name=A_MIG_1g.5gb\nmig 0 MIG-y name=A_MIG_1g.5gb\n");
  const GpuRig rig({{"mig", text("single")}});
  CHECK(ids_of(rig.scan()) == Texts{"MIG-x", "MIG-y"});
  CHECK(value(rig.scan().devices[0], "type") == "gpu");
  fake.show("card GPU-a mig=1\nmig 0 MIG-x name=A_MIG_1g.5gb\nmig 0 MIG-y name=A_MIG_2g.10gb\n");
  CHECK_THROWS_WITH(
      rig.scan(),
      "`mig: single` needs parts of one profile, and there are 1g.5gb and 2g.10gb; `mig: mixed` "
      "takes them all");
  fake.show("card GPU-a mig=0\n");
  CHECK_THROWS(rig.scan());
}

// Returns a selection of all devices except the one with this UUID.
Choice without(const std::string& uuid) {
  return {.except = {{.attributes = {{"uuid", {uuid}}}, .where = "except[0]"}}};
}

TEST_CASE("`mig: single` ignores cards and MIG devices that the entry leaves out") {
  const FakeNvml fake("card GPU-a mig=1\nmig 0 MIG-x name=A_MIG_1g.5gb\nmig 0 MIG-y name=A_MIG_2g.10gb\n");
  const GpuRig rig({{"mig", text("single")}});
  CHECK(ids_of(rig.scan(without("MIG-y"))) == Texts{"MIG-x"});
  fake.show("card GPU-a mig=1\nmig 0 MIG-x name=A_MIG_1g.5gb\ncard GPU-b mig=0\n");
  CHECK(ids_of(rig.scan(without("GPU-b"))) == Texts{"MIG-x"});
  CHECK_THROWS_WITH(rig.scan(without("MIG-x")),
                    "`mig: single` needs MIG on every card, and GPU-b has it off; leave it out with "
                    "`except`, or take both sorts with `mig: mixed`");
}

TEST_CASE("with `mig: none` a divided card that the entry leaves out causes no remark") {
  const FakeNvml fake(kDividedCards);
  const GpuRig rig({});
  const Scan scan = rig.scan(without("GPU-a"));
  CHECK(ids_of(scan) == Texts{"GPU-b"});
  CHECK(scan.remarks.empty());
}

TEST_CASE("an entry that leaves out NVIDIA's cards waits neither for MPS nor for nvidia-ctk") {
  const FakeNvml fake("card GPU-a\n");
  const GpuRig rig({{"mps", text("true")}, {"deviceListStrategy", text("cdi-cri")}});
  rig.machine.tree().file("/usr/bin/nvidia-ctk", "");
  CHECK_FALSE(rig.scan().not_yet.empty());
  const Scan scan = rig.scan(without("GPU-a"));
  CHECK(scan.not_yet.empty());
  CHECK(scan.cdi.empty());
}

TEST_CASE("`mig: none` lists cards, and reports that a divided one cannot be used whole") {
  const FakeNvml fake(kDividedCards);
  const GpuRig rig({});
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].starts_with("GPU-a has MIG on"));
}

}  // namespace
}  // namespace plughost
