#include <doctest/doctest.h>

#include <algorithm>
#include <future>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using Keys = GpuRig::Keys;

const std::string kRoot = "/sys/devices/pci0000:00/";
const std::string kTwoCards =
    "card GPU-a minor=3 pci=0000:3b:00.0 memory=81559 name=NVIDIA_H100\n"
    "card GPU-b minor=1 pci=0000:86:00.0 memory=40960\n";

void add_pci(const MadeSysfs& machine, const std::string& address, const std::string& vendor,
             const std::string& class_code, const std::string& driver) {
  const std::string path = kRoot + address;
  machine.device(
      path, "pci",
      {{"vendor", "0x" + vendor}, {"device", "0x1234"}, {"class", "0x" + class_code}, {"numa_node", "1"}});
  if (!driver.empty()) machine.bind(path, driver);
}

void add_drm(const MadeSysfs& machine, const std::string& address, const std::string& card,
             const std::string& render) {
  for (const std::string& name : {card, render})
    machine.device(kRoot + address + "/drm/" + name, "drm", {}, {{"DEVNAME", "dri/" + name}});
}

Texts nodes_of(const Device& device) {
  Texts paths;
  for (const DeviceNode& node : device.nodes) paths.push_back(node.host_path);
  return paths;
}

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
  rig.machine.bind(kRoot + "0000:86:00.0", "vfio-pci");
  rig.scan();
  CHECK_FALSE(fake.in_use());
  fake.show(kTwoCards);
  rig.scan();
  CHECK(fake.in_use());
  rig.source.reset();
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("without NVML the cards are those that the driver shows in /proc") {
  const GpuRig rig({{"passDeviceSpecs", text("true")}}, "libnvidia-none.so.1");
  const std::string uuid = "GPU-12345678-1234-1234-1234-1234567890ab";
  rig.machine.tree().file("/proc/driver/nvidia/gpus/0000:3b:00.0/information",
                          "Model: \t\t NVIDIA A10\nGPU UUID: \t " + uuid +
                              "\nBus Location: \t 0000:3b:00.0\nDevice Minor: \t 5\n");
  rig.machine.tree().file("/proc/driver/nvidia/gpus/0000:86:00.0/information",
                          "GPU UUID: \t unknown\nDevice Minor: \t 6\n");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{uuid});
  CHECK(nodes_of(scan.devices[0]) == Texts{"/dev/nvidia5"});
  CHECK(value(scan.devices[0], "name") == "NVIDIA A10");
  REQUIRE(scan.remarks.size() == 2);
  CHECK(scan.remarks[0].find("no well-formed UUID") != std::string::npos);
  CHECK(scan.remarks[1].starts_with("NVML cannot be used (libnvidia-none.so.1"));
}

TEST_CASE("on a machine without a card there is nothing, and nothing is said") {
  const GpuRig rig({}, "libnvidia-none.so.1");
  const Scan scan = rig.scan();
  CHECK(scan.devices.empty());
  CHECK(scan.remarks.empty());
  CHECK(scan.look_again == 0s);
}

TEST_CASE("cards without a driver are not offered, and the log says what to do") {
  const GpuRig rig({}, "libnvidia-none.so.1");
  add_pci(rig.machine, "0000:3b:00.0", "10de", "030200", "");
  add_pci(rig.machine, "0000:3b:00.1", "10de", "040300", "snd_hda_intel");
  add_pci(rig.machine, "0000:86:00.0", "10de", "030000", "nouveau");
  add_pci(rig.machine, "0000:87:00.0", "10de", "030200", "vfio-pci");
  const Scan scan = rig.scan();
  CHECK(scan.devices.empty());
  REQUIRE(scan.remarks.size() == 2);
  CHECK(scan.remarks[0].starts_with("0000:3b:00.0 is a card of NVIDIA's that cannot be offered: no driver"));
  CHECK(scan.remarks[0].ends_with("install NVIDIA's driver, or load it with modprobe nvidia"));
  CHECK(scan.remarks[1].find("its driver is nouveau") != std::string::npos);
}

TEST_CASE("a system on a chip is one device, as in NVIDIA's plugin") {
  const auto check_tegra = [](const GpuRig& rig) {
    const Scan scan = rig.scan();
    REQUIRE(ids_of(scan) == Texts{"tegra"});
    CHECK(scan.devices[0].healthy());
    CHECK(scan.remarks.empty());
    CHECK(allocation(scan, {}, {"tegra"}).env ==
          std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES", "tegra"}});
  };
  const auto nvgpu = [](const GpuRig& rig) {
    rig.machine.device("/sys/devices/platform/gpu.0", "platform");
    rig.machine.link("/sys/devices/platform/gpu.0/driver", "/sys/bus/platform/drivers/nvgpu");
  };
  const GpuRig by_family({{"vendor", text("nvidia")}}, "libnvidia-none.so.1");
  nvgpu(by_family);
  by_family.machine.tree().file("/sys/devices/soc0/family", "Tegra\n");
  check_tegra(by_family);
  const GpuRig by_release({}, "libnvidia-none.so.1");
  by_release.machine.tree().file("/etc/nv_tegra_release", "# R35 (release)\n");
  check_tegra(by_release);
  const FakeNvml fake("card GPU-a name=Orin_(nvgpu)\n");
  check_tegra(GpuRig({}));
}

TEST_CASE("cards know where they are in the tree of PCI bridges") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  const std::string above = kRoot + "0000:3a:00.0";
  rig.machine.device(above, "pci");
  rig.machine.device(above + "/0000:3b:00.0", "pci", {{"vendor", "0x10de"}, {"class", "0x030200"}});
  add_pci(rig.machine, "0000:05:00.0", "1002", "120000", "");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"0000:05:00.0", "GPU-a", "GPU-b"});
  CHECK(value(scan.devices[0], "pciPath") == "pci0000:00/0000:05:00.0");
  CHECK(value(scan.devices[1], "pciPath") == "pci0000:00/0000:3a:00.0/0000:3b:00.0");
  CHECK(value(scan.devices[2], "pciPath") == "(none)");
}

TEST_CASE("a card of AMD whose memory fails needs a reset, and is well after it") {
  const GpuRig rig({{"vendor", text("amd")}}, "");
  add_pci(rig.machine, "0000:03:00.0", "1002", "030000", "amdgpu");
  add_drm(rig.machine, "0000:03:00.0", "card0", "renderD128");
  rig.machine.tree().file("/dev/kfd");
  CHECK(rig.scan().look_again == 0s);
  const std::string count = kRoot + "0000:03:00.0/ras/umc_err_count";
  rig.machine.tree().file(count, "ue: 0\nce: 12\n");
  CHECK(rig.scan().look_again == 30s);
  CHECK(rig.trouble("0000:03:00.0").empty());
  rig.machine.tree().file(count, "ue: 2\nce: 12\n");
  CHECK(rig.trouble("0000:03:00.0") ==
        "its memory had 2 uncorrectable errors since the last reset (umc_err_count); it needs a reset");
  rig.machine.tree().file(count, "ue: 0\nce: 0\n");
  CHECK(rig.trouble("0000:03:00.0").empty());
}

TEST_CASE("a card of Intel that its driver could not start is Unhealthy") {
  const GpuRig rig({{"vendor", text("intel")}}, "");
  add_pci(rig.machine, "0000:07:00.0", "8086", "038000", "xe");
  add_drm(rig.machine, "0000:07:00.0", "card1", "renderD129");
  CHECK(rig.trouble("0000:07:00.0").empty());
  rig.machine.attribute(kRoot + "0000:07:00.0", "survivability_mode", "info");
  CHECK(rig.trouble("0000:07:00.0").find("survivability mode") != std::string::npos);
}

TEST_CASE("cards of AMD have the node that all share, and their own") {
  const GpuRig rig({{"vendor", text("amd")}}, "");
  add_pci(rig.machine, "0000:03:00.0", "1002", "030000", "amdgpu");
  add_drm(rig.machine, "0000:03:00.0", "card0", "renderD128");
  add_pci(rig.machine, "0000:03:00.1", "1002", "040300", "snd_hda_intel");
  add_pci(rig.machine, "0000:04:00.0", "1002", "030000", "vfio-pci");
  add_pci(rig.machine, "0000:05:00.0", "1002", "120000", "");
  Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"0000:03:00.0", "0000:05:00.0"});
  CHECK(scan.devices[0].trouble == "there is no /dev/kfd");
  CHECK(scan.devices[1].trouble == "no driver is bound to it");
  rig.machine.tree().file("/dev/kfd");
  scan = rig.scan();
  CHECK(scan.devices[0].healthy());
  CHECK(nodes_of(scan.devices[0]) == Texts{"/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128"});
  CHECK(scan.devices[0].numa_nodes == std::vector{1});
  CHECK(scan.devices[0].recipe == nullptr);
}

TEST_CASE("cards of Intel are told apart by their driver, and virtual functions are left out") {
  const GpuRig rig({{"vendor", text("auto")}}, "");
  add_pci(rig.machine, "0000:00:02.0", "8086", "030000", "i915");
  add_drm(rig.machine, "0000:00:02.0", "card0", "renderD128");
  add_pci(rig.machine, "0000:07:00.0", "8086", "038000", "xe");
  add_drm(rig.machine, "0000:07:00.0", "card1", "renderD129");
  add_pci(rig.machine, "0000:07:00.1", "8086", "038000", "xe");
  rig.machine.link(kRoot + "0000:07:00.1/physfn", kRoot + "0000:07:00.0");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"0000:00:02.0", "0000:07:00.0"});
  CHECK(value(scan.devices[0], "driver") == "i915");
  CHECK(value(scan.devices[1], "driver") == "xe");
  CHECK(nodes_of(scan.devices[1]) == Texts{"/dev/dri/card1", "/dev/dri/renderD129"});
}

TEST_CASE("cards of Iluvatar are numbered from 0 in a container") {
  const GpuRig rig({{"vendor", text("iluvatar")}}, "");
  for (const char* node : {"/dev/iluvatar3", "/dev/iluvatar7", "/dev/iluvatar_ctl", "/dev/itrctl"})
    rig.machine.tree().file(node);
  const Allocation got = allocation(rig.scan(), {}, {"iluvatar7", "iluvatar3"});
  const std::vector<DeviceNode> nodes{{.host_path = "/dev/iluvatar7", .container_path = "/dev/iluvatar0"},
                                      {.host_path = "/dev/itrctl", .container_path = "/dev/itrctl"},
                                      {.host_path = "/dev/iluvatar3", .container_path = "/dev/iluvatar1"}};
  CHECK(got.nodes == nodes);
  CHECK(got.env == std::map<std::string, std::string>{{"IX_VISIBLE_DEVICES", "7,3"}});
}

const std::string kDivided =
    "card GPU-a minor=3 mig=1\n"
    "mig 0 MIG-x gi=7 ci=0 memory=4864 name=NVIDIA_A100_MIG_1g.5gb\n"
    "mig 0 MIG-y gi=8 ci=0 memory=9856 name=NVIDIA_A100_MIG_1g.10gb+me\n"
    "card GPU-b minor=1\n";

TEST_CASE("`mig: mixed` lists the parts of divided cards, and the other cards") {
  const FakeNvml fake(kDivided);
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

TEST_CASE("how near cards are comes from the switches and links between them") {
  const std::string cards =
      "card GPU-a pci=0000:01:00.0\ncard GPU-b pci=0000:02:00.0\ncard GPU-c pci=0000:03:00.0 mig=1\n"
      "mig 2 MIG-x name=A_MIG_1g.5gb\n";
  const FakeNvml fake(cards + "level 0 1 10\nlink 0 1 2\nlevel 0 2 40\n");
  const GpuRig rig({{"mig", text("mixed")}});
  const Scan scan = rig.scan();
  REQUIRE(scan.devices.size() == 3);
  const std::vector<Bond> first{{.pci = "0000:02:00.0", .score = 250}, {.pci = "0000:03:00.0", .score = 20}};
  const std::vector<Bond> part{{.pci = "0000:01:00.0", .score = 20},
                               {.pci = "0000:02:00.0", .score = 10},
                               {.pci = "0000:03:00.0", .score = 60}};
  CHECK(scan.devices[0].bonds == first);
  CHECK(scan.devices[2].bonds == part);
}

TEST_CASE("a change of the parts while running is seen with the next look") {
  const FakeNvml fake("card GPU-a mig=0\n");
  const GpuRig rig({{"mig", text("mixed")}});
  CHECK(ids_of(rig.scan()) == Texts{"GPU-a"});
  fake.show("card GPU-a mig=1\nmig 0 MIG-x gi=1 name=A_MIG_1g.5gb\n");
  CHECK(ids_of(rig.scan()) == Texts{"MIG-x"});
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

TEST_CASE("`mig: none` lists cards, and says that a divided one cannot be used whole") {
  const FakeNvml fake(kDivided);
  const GpuRig rig({});
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].starts_with("GPU-a has MIG on"));
}

TEST_CASE("with a unit of memory each card counts its own size") {
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

TEST_CASE("units of cores are 100 on each card") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({{"unit", map({{"cores", text("10")}})}});
  CHECK(rig.scan().devices.at(0).replicas == 10);
}

TEST_CASE("units that do not fit into a message are refused with one that would") {
  std::string cards;
  for (int i = 0; i < 16; ++i)
    cards += "card GPU-00000000-0000-0000-0000-0000000000" + std::to_string(10 + i) + " memory=81559\n";
  const FakeNvml fake(cards);
  const GpuRig rig({{"unit", map({{"memory", text("1MiB")}})}});
  CHECK_THROWS_WITH(
      rig.scan(),
      "with `unit: {memory: 1MiB}` the cards of this machine do not fit into one message to the "
      "kubelet (4 MiB); 32MiB would fit");
  const GpuRig coarser({{"unit", map({{"memory", text("32MiB")}})}});
  std::size_t bytes = 0;
  for (const Device& device : coarser.scan().devices) bytes += wire_size(device);
  CHECK(bytes <= kListLimit);
}

TEST_CASE("an error of the card makes it sick, and time without another makes it well") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  CHECK(rig.trouble("GPU-a").empty());
  fake.show(kTwoCards + "event 1 0 8 79\n");
  CHECK(rig.trouble("GPU-a") == "XID 79: the GPU has fallen off the bus");
  CHECK(rig.trouble("GPU-b").empty());
  rig.wait(29s);
  CHECK_FALSE(rig.trouble("GPU-a").empty());
  fake.show(kTwoCards + "event 1 0 8 79\nevent 2 0 2 0\n");
  CHECK(rig.trouble("GPU-a") == "an uncorrectable (double-bit) memory error");
  rig.wait(29s);
  CHECK_FALSE(rig.trouble("GPU-a").empty());
  rig.wait(1s);
  CHECK(rig.trouble("GPU-a").empty());
}

TEST_CASE("errors that programs cause are not the card's, unless somebody wants them to be") {
  const std::string events = "event 1 0 8 31\nevent 2 1 8 48\n";
  const auto troubles = [&](Keys keys) {
    const FakeNvml fake(kTwoCards);
    const GpuRig rig(std::move(keys));
    rig.scan();
    fake.show(kTwoCards + events);
    rig.scan();  // one event a file, and a look takes them all
    return std::pair(!rig.trouble("GPU-a").empty(), !rig.trouble("GPU-b").empty());
  };
  CHECK(troubles({}) == std::pair(false, true));
  CHECK(troubles({{"ignoredXids", text("48")}}) == std::pair(true, false));
  CHECK(troubles({{"healthChecks", text("false")}}) == std::pair(false, false));
  ::setenv("DP_DISABLE_HEALTHCHECKS", "48, 74", 1);
  CHECK(troubles({}) == std::pair(false, false));
  ::setenv("DP_DISABLE_HEALTHCHECKS", "xids", 1);
  CHECK(troubles({}) == std::pair(false, false));
  ::setenv("DP_ENABLE_HEALTHCHECKS", "31", 1);
  CHECK(troubles({}) == std::pair(true, false));
  ::unsetenv("DP_DISABLE_HEALTHCHECKS");
  ::unsetenv("DP_ENABLE_HEALTHCHECKS");
}

TEST_CASE("an error of a part is that part's, and one of the card is all parts'") {
  const FakeNvml fake(kDivided);
  const GpuRig rig({{"mig", text("mixed")}});
  rig.scan();
  fake.show(kDivided + "event 1 0 8 48 8 0\n");
  CHECK(rig.trouble("MIG-y").starts_with("XID 48"));
  CHECK(rig.trouble("MIG-x").empty());
  fake.show(kDivided + "event 2 0 8 79\n");
  CHECK(rig.trouble("MIG-x").starts_with("XID 79"));
}

TEST_CASE("a lost card costs that card, and it comes back when it answers again") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  rig.scan();
  fake.show("card GPU-a lost=1\ncard GPU-b minor=1\n");
  CHECK(rig.trouble("GPU-a") == "nvmlDeviceGetHandleByIndex: GPU is lost (15)");
  CHECK(rig.trouble("GPU-b").empty());
  const auto refused = answer(rig.scan(), {}, {"GPU-a"});
  REQUIRE(std::holds_alternative<Refusal>(refused));
  CHECK(std::get<Refusal>(refused).text.find("GPU is lost") != std::string::npos);
  fake.show(kTwoCards);
  CHECK_FALSE(rig.trouble("GPU-a").empty());
  rig.wait(30s);
  CHECK(rig.trouble("GPU-a").empty());
}

TEST_CASE("a card that is lost when plughost starts is left out with a remark") {
  const FakeNvml fake("card GPU-a lost=1\ncard GPU-b minor=1\n");
  const GpuRig rig({});
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-b"});
  CHECK(value(scan.devices[0], "index") == "1");
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].find("GPU 0 is left out") == 0);
}

TEST_CASE("a card that left the bus does not make the one that moved up sick") {
  const FakeNvml fake("card GPU-a\ncard GPU-b\ncard GPU-c\n");
  const GpuRig rig({});
  rig.scan();
  fake.show("card GPU-b\ncard GPU-x lost=1\ncard GPU-c\n");
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-b", "GPU-c"});
  for (const Device& device : scan.devices) CHECK(device.healthy());
}

TEST_CASE("a card that asks for a reset is sick until it does not") {
  const FakeNvml fake("card GPU-a recovery=1\n");
  GpuRig rig({});
  CHECK(rig.trouble("GPU-a").find("recovery action (1)") != std::string::npos);
  fake.show("card GPU-a\n");
  rig.wait(30s);
  CHECK(rig.trouble("GPU-a").empty());
}

TEST_CASE("a library from before the calls had versions lists its cards and reports their errors") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({}, PLUGHOST_FAKE_NVML_OLD);
  CHECK(ids_of(rig.scan()) == Texts{"GPU-a", "GPU-b"});
  fake.show(kTwoCards + "event 1 1 8 79\n");
  CHECK(rig.trouble("GPU-b").starts_with("XID 79"));
}

TEST_CASE("a call that hangs holds one look, and what it finds in the end is whole") {
  for (const char* call :
       {"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
        "nvmlDeviceGetName", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMigMode", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetFieldValues", "nvmlEventSetCreate", "nvmlDeviceGetSupportedEventTypes",
        "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"}) {
    CAPTURE(call);
    const FakeNvml fake(kTwoCards + "hang " + call + '\n');
    const GpuRig rig({});
    auto look = std::async(std::launch::async, [&] { return rig.source->scan(rig.machine.host()); });
    CHECK(look.wait_for(20ms) == std::future_status::timeout);
    fake.show(kTwoCards);
    CHECK(ids_of(look.get()) == Texts{"GPU-a", "GPU-b"});
  }
}

TEST_CASE("no call that fails costs more than it would have told") {
  for (const char* call :
       {"nvmlDeviceGetName", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMigMode", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetFieldValues", "nvmlEventSetCreate", "nvmlDeviceGetSupportedEventTypes",
        "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"}) {
    CAPTURE(call);
    const FakeNvml fake(kTwoCards + "fail " + call + " 999\n");
    const GpuRig rig({});
    const Scan scan = rig.scan();
    CHECK(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
    for (const Device& device : scan.devices) CHECK(device.healthy());
  }
}

TEST_CASE("single cards may have replicas of their own, and what is shared another name") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  Recipe recipe;
  recipe.name = Template("nvidia.com/gpu");
  recipe.replicas_of = {{"GPU-b", 4}};
  recipe.rename_shared = true;
  const Assembly assembly = assemble(recipe, rig.scan().devices);
  REQUIRE(assembly.resources.size() == 2);
  CHECK(assembly.resources.at("nvidia.com/gpu").at(0).id == "GPU-a");
  CHECK(assembly.resources.at("nvidia.com/gpu").at(0).replicas == 1);
  CHECK(assembly.resources.at("nvidia.com/gpu.shared").at(0).replicas == 4);
  recipe.replicas_of = {{"1", 3}, {"GPU-a", 2}};
  const Assembly by_index = assemble(recipe, rig.scan().devices);
  REQUIRE(by_index.resources.size() == 1);
  CHECK(by_index.resources.at("nvidia.com/gpu.shared").at(1).replicas == 3);
}

TEST_CASE("mistakes in `gpu` are found when it is read") {
  const auto problem = [](Keys keys) {
    const GpuRig rig(std::move(keys), "");
    return rig.problems.size() == 1 ? rig.problems[0] : std::to_string(rig.problems.size()) + " problems";
  };
  CHECK(problem({}) == "0 problems");
  CHECK(problem({{"vendor", text("nvida")}}).starts_with("resources[0].gpu.vendor: "));
  CHECK(problem({{"deviceListStrategy", list({text("envar")})}}).ends_with("(did you mean 'envvar'?)"));
  CHECK(problem({{"deviceListStrategy", list({})}}).ends_with("such as envvar"));
  CHECK(problem({{"mig", text("both")}}).starts_with("resources[0].gpu.mig: "));
  CHECK(problem({{"mig", text("single")}, {"mps", text("true")}}).find("exclude each other") !=
        std::string::npos);
  CHECK(problem({{"ignoredXids", text("x")}}).find("is no XID") != std::string::npos);
  CHECK(problem({{"imexChannels", text("4096")}}).find("is no IMEX channel") != std::string::npos);
  CHECK(problem({{"mpsRoot", text("run")}}).starts_with("resources[0].gpu.mpsRoot: "));
  CHECK(problem({{"nvidiaCtk", text("nvidia-ctk")}}).starts_with("resources[0].gpu.nvidiaCtk: "));
  for (const char* wrong : {"1", "GiB", "0GiB", "1GB", "-1GiB", "1.5GiB", ""}) {
    CAPTURE(wrong);
    CHECK(problem({{"unit", map({{"memory", text(wrong)}})}}).find("is no unit of memory") !=
          std::string::npos);
  }
  CHECK(problem({{"unit", map({{"memory", text("1GiB")}, {"cores", text("1")}})}}).find("a unit is") !=
        std::string::npos);
  CHECK(problem({{"unit", map({{"cores", text("101")}})}}).starts_with("resources[0].gpu.unit.cores: "));
}

}  // namespace
}  // namespace plughost
