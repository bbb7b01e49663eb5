// NVIDIA's cards where there is NVML: which of them, and of their parts, are devices.

#include <doctest/doctest.h>

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
  CHECK(scan.look_again == 5s);
  CHECK(scan.remarks.empty());
}

TEST_CASE("a driver that is loaded later is taken, and one that is unloaded is let go") {
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

TEST_CASE("a card that is unbound is let go, and so are all when nobody asks any more") {
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

TEST_CASE("nobody waits for a driver that hangs while it lets its cards go") {
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

TEST_CASE("`mig: mixed` lists the parts of divided cards, and the other cards") {
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
  CHECK(value(scan.devices[0], "card") == "GPU-a");
  CHECK(value(scan.devices[1], "card") == "GPU-a");
  CHECK(value(scan.devices[1], "cardMemory") == "(none)");
  CHECK(value(scan.devices[2], "card") == "(none)");
  CHECK(nodes_of(scan.devices[0]) ==
        Texts{"/dev/nvidia3", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"});

  Recipe recipe;
  recipe.name = Template("nvidia.com/{type}");
  const Assembly assembly = assemble(recipe, scan.devices);
  Texts names;
  for (const auto& [name, devices] : assembly.resources) names.push_back(name);
  CHECK(names == Texts{"nvidia.com/gpu", "nvidia.com/mig-1g.10gb.me", "nvidia.com/mig-1g.5gb"});
  const auto answer = allocate("nvidia.com/mig-1g.5gb", recipe,
                               Inventory(assembly.resources.at("nvidia.com/mig-1g.5gb")), Texts{"MIG-x"});
  CHECK(std::get<Allocation>(answer).env.at("NVIDIA_VISIBLE_DEVICES") == "MIG-x");
}

TEST_CASE("a change of the parts while running is seen with the next look") {
  const FakeNvml fake("card GPU-a mig=0\n");
  const GpuRig rig({{"mig", text("mixed")}});
  CHECK(ids_of(rig.scan()) == Texts{"GPU-a"});
  fake.show("card GPU-a mig=1\nmig 0 MIG-x gi=1 name=A_MIG_1g.5gb\n");
  CHECK(ids_of(rig.scan()) == Texts{"MIG-x"});
}

TEST_CASE("a part knows how much memory its card has") {
  const FakeNvml fake(
      "card GPU-a memory=40960 mig=1\nmig 0 MIG-x memory=4864 name=A_MIG_1g.5gb\n"
      "card GPU-b memory=81920 mig=1\nmig 1 MIG-y memory=4864 name=A_MIG_1g.5gb\n");
  const Scan scan = GpuRig({{"mig", text("mixed")}}).scan();
  REQUIRE(ids_of(scan) == Texts{"MIG-x", "MIG-y"});
  CHECK(value(scan.devices[0], "cardMemory") == "40960");
  CHECK(value(scan.devices[1], "card") == "GPU-b");
  CHECK(value(scan.devices[1], "cardMemory") == "81920");
}

TEST_CASE("`mig: single` takes parts of one profile, and says what else there is") {
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

const GpuRig::Keys kDra{{"advertise", text("dra")}};

GpuRig whole_rig(GpuRig::Keys more = {}, const char* mig = "mixed") {
  more.emplace_back("mig", text(mig));
  more.emplace_back("whole", text("true"));
  return GpuRig(std::move(more), PLUGHOST_FAKE_NVML, kDra);
}

const std::string kKnownParts =
    "card GPU-a minor=3 pci=0000:3b:00.0 memory=40960 mig=1 name=NVIDIA_A100\n"
    "mig 0 MIG-x gi=7 ci=0 memory=4864 sms=14 slices=4:1 name=NVIDIA_A100_MIG_1g.5gb\n"
    "mig 0 MIG-y gi=8 ci=0 memory=9856 sms=28 slices=0:2 name=NVIDIA_A100_MIG_2g.10gb\n"
    "card GPU-b minor=1 memory=40960\n";

TEST_CASE("a divided card that is listed beside its parts comes with all of them") {
  const FakeNvml fake(kKnownParts);
  const GpuRig rig = whole_rig({{"passDeviceSpecs", text("true")}});
  rig.machine.tree().file("/proc/driver/nvidia-caps/mig-minors",
                          "gpu3/gi7/access 66\ngpu3/gi7/ci0/access 67\ngpu3/gi8/access 75\n");
  const Scan scan = rig.scan();
  CHECK(scan.remarks.empty());
  REQUIRE(ids_of(scan) == Texts{"MIG-x", "MIG-y", "GPU-b", "GPU-a"});
  const Device& whole = scan.devices[3];
  CHECK(value(whole, "type") == "mig-all");
  CHECK(value(whole, "parts") == "2");
  CHECK(value(whole, "card") == "GPU-a");
  CHECK(value(whole, "uuid") == "GPU-a");
  CHECK(value(whole, "index") == "0");
  CHECK(value(whole, "memory") == "40960");
  CHECK(value(whole, "pci") == "0000:3b:00.0");
  CHECK(value(whole, "visible") == "MIG-x,MIG-y");
  CHECK(nodes_of(whole) == Texts{"/dev/nvidia3", "/dev/nvidia-caps/nvidia-cap66",
                                 "/dev/nvidia-caps/nvidia-cap67", "/dev/nvidia-caps/nvidia-cap75"});
  CHECK(value(scan.devices[0], "parts") == "(none)");
  CHECK(value(scan.devices[0], "multiprocessors") == "14");
  CHECK(value(scan.devices[0], "memorySlices") == "4:1");
  CHECK(value(scan.devices[1], "memorySlices") == "0:2");
  CHECK(value(scan.devices[2], "type") == "gpu");
  CHECK(value(scan.devices[2], "parts") == "(none)");
  CHECK(allocation(scan, Recipe(), {"GPU-a"}).env.at("NVIDIA_VISIBLE_DEVICES") == "MIG-x,MIG-y");
}

TEST_CASE("by index the parts of a whole card are named by theirs") {
  const FakeNvml fake(kKnownParts);
  const Scan scan = whole_rig({{"deviceIDStrategy", text("index")}}).scan();
  CHECK(value(scan.devices.at(3), "visible") == "0:0,0:1");
}

TEST_CASE(
    "with `mig: single` whole cards are beside parts of one profile, and a card without parts is none") {
  const FakeNvml fake(
      "card GPU-a memory=40960 mig=1\nmig 0 MIG-x memory=4864 name=A_MIG_1g.5gb\n"
      "mig 0 MIG-y memory=4864 name=A_MIG_1g.5gb\ncard GPU-b memory=40960 mig=1\n");
  const Scan scan = whole_rig({}, "single").scan();
  CHECK(ids_of(scan) == Texts{"MIG-x", "MIG-y", "GPU-a"});
  CHECK(value(scan.devices[0], "type") == "gpu");
  CHECK(value(scan.devices[2], "type") == "mig-all");
}

TEST_CASE("a card whose parts the entry does not all take, or know, is not listed with them") {
  const FakeNvml fake(kKnownParts);
  const GpuRig rig = whole_rig();
  const auto taking = [](const char* attribute, const char* pattern) {
    return Choice{.only = {}, .except = {{.attributes = {{attribute, {pattern}}}, .where = {}}}};
  };
  Scan scan = rig.scan(taking("profile", "2g.*"));
  CHECK(ids_of(scan) == Texts{"MIG-x", "GPU-b"});
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].starts_with("GPU-a is not listed with all of its parts: "));
  scan = rig.scan(taking("type", "mig-all"));
  CHECK(ids_of(scan) == Texts{"MIG-x", "MIG-y", "GPU-b"});
  CHECK(scan.remarks.empty());
  fake.show("card GPU-a memory=40960 mig=1\nmig 0 MIG-x name=A_MIG_1g.5gb\n");
  CHECK(ids_of(rig.scan()) == Texts{"MIG-x"});
  fake.show("card GPU-a mig=1\nmig 0 MIG-x memory=4864 name=A_MIG_1g.5gb\n");
  CHECK(ids_of(rig.scan()) == Texts{"MIG-x"});
}

TEST_CASE("a whole card is sick while it or one of its parts is") {
  const FakeNvml fake(kKnownParts);
  const GpuRig rig = whole_rig();
  CHECK(rig.trouble("GPU-a").empty());
  fake.show(kKnownParts + "event 1 0 8 79 8 0\n");
  CHECK(rig.trouble("GPU-a") == rig.trouble("MIG-y"));
  CHECK_FALSE(rig.trouble("GPU-a").empty());
  CHECK(rig.trouble("MIG-x").empty());
  CHECK(rig.trouble("GPU-b").empty());
}

TEST_CASE("`mig: none` lists cards, and says that a divided one cannot be used whole") {
  const FakeNvml fake(kDividedCards);
  const GpuRig rig({});
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].starts_with("GPU-a has MIG on"));
}

}  // namespace
}  // namespace plughost
