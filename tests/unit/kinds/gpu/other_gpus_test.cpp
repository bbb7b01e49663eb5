// Tests the cards of AMD, Intel and Iluvatar.

#include <doctest/doctest.h>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

void add_drm(const MadeSysfs& machine, const std::string& address, const std::string& card,
             const std::string& render) {
  for (const std::string& name : {card, render})
    machine.device(kPciRoot + address + "/drm/" + name, "drm", {}, {{"DEVNAME", "dri/" + name}});
}

TEST_CASE("an AMD card with uncorrectable memory errors is Unhealthy until a reset clears their count") {
  const GpuRig rig({{"vendor", text("amd")}}, "");
  add_pci(rig.machine, "0000:03:00.0", "1002", "030000", "amdgpu");
  add_drm(rig.machine, "0000:03:00.0", "card0", "renderD128");
  rig.machine.tree().file("/dev/kfd");
  CHECK(rig.scan().rescan_after == 0s);
  const std::string count = kPciRoot + "0000:03:00.0/ras/umc_err_count";
  rig.machine.tree().file(count, "ue: 0\nce: 12\n");
  CHECK(rig.scan().rescan_after == 30s);
  CHECK(rig.error("0000:03:00.0").empty());
  rig.machine.tree().file(count, "ue: 2\nce: 12\n");
  CHECK(rig.error("0000:03:00.0") ==
        "its memory had 2 uncorrectable errors since the last reset (umc_err_count); it needs a reset");
  rig.machine.tree().file(count, "ue: 0\nce: 0\n");
  CHECK(rig.error("0000:03:00.0").empty());
}

TEST_CASE("an Intel card in survivability mode is Unhealthy") {
  const GpuRig rig({{"vendor", text("intel")}}, "");
  add_pci(rig.machine, "0000:07:00.0", "8086", "038000", "xe");
  add_drm(rig.machine, "0000:07:00.0", "card1", "renderD129");
  CHECK(rig.error("0000:07:00.0").empty());
  rig.machine.attribute(kPciRoot + "0000:07:00.0", "survivability_mode", "info");
  CHECK(rig.error("0000:07:00.0").find("survivability mode") != std::string::npos);
}

TEST_CASE("an AMD card has its own nodes and the common node /dev/kfd") {
  const GpuRig rig({{"vendor", text("amd")}}, "");
  add_pci(rig.machine, "0000:03:00.0", "1002", "030000", "amdgpu");
  add_drm(rig.machine, "0000:03:00.0", "card0", "renderD128");
  add_pci(rig.machine, "0000:03:00.1", "1002", "040300", "snd_hda_intel");
  add_pci(rig.machine, "0000:04:00.0", "1002", "030000", "vfio-pci");
  add_pci(rig.machine, "0000:05:00.0", "1002", "120000", "");
  Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"0000:03:00.0", "0000:05:00.0"});
  CHECK(scan.devices[1].error == "no driver is bound to it");
  CHECK(nodes_of(scan.devices[0]) == Texts{"/dev/kfd", "/dev/dri/card0", "/dev/dri/renderD128"});
  CHECK(scan.devices[0].numa_nodes == std::vector{1});
  CHECK(scan.devices[0].spec == nullptr);
}

TEST_CASE("Intel cards have their driver as an attribute, and virtual functions are not listed") {
  const GpuRig rig({{"vendor", text("auto")}}, "");
  add_pci(rig.machine, "0000:00:02.0", "8086", "030000", "i915");
  add_drm(rig.machine, "0000:00:02.0", "card0", "renderD128");
  add_pci(rig.machine, "0000:07:00.0", "8086", "038000", "xe");
  add_drm(rig.machine, "0000:07:00.0", "card1", "renderD129");
  add_pci(rig.machine, "0000:07:00.1", "8086", "038000", "xe");
  rig.machine.link(kPciRoot + "0000:07:00.1/physfn", kPciRoot + "0000:07:00.0");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{"0000:00:02.0", "0000:07:00.0"});
  CHECK(value(scan.devices[0], "driver") == "i915");
  CHECK(value(scan.devices[1], "driver") == "xe");
  CHECK(nodes_of(scan.devices[1]) == Texts{"/dev/dri/card1", "/dev/dri/renderD129"});
}

TEST_CASE("Intel's NPU is not listed as a GPU, with or without its driver") {
  const GpuRig rig({{"vendor", text("intel")}}, "");
  add_pci(rig.machine, "0000:00:0b.0", "8086", "120000", "intel_vpu");
  add_pci(rig.machine, "0000:00:0c.0", "8086", "120000", "");
  add_pci(rig.machine, "0000:07:00.0", "8086", "038000", "");
  CHECK(ids_of(rig.scan()) == Texts{"0000:07:00.0"});
}

TEST_CASE("cards of Iluvatar are numbered from 0 in a container") {
  const GpuRig rig({{"vendor", text("iluvatar")}}, "");
  for (const char* node : {"/dev/iluvatar3", "/dev/iluvatar7", "/dev/iluvatar_ctl", "/dev/itrctl"})
    rig.machine.tree().file(node);
  const Allocation got = allocation(rig.scan(), {}, {"iluvatar7", "iluvatar3"});
  const std::vector<ContainerNode> nodes{{.host_path = "/dev/iluvatar7", .container_path = "/dev/iluvatar0"},
                                         {.host_path = "/dev/itrctl", .container_path = "/dev/itrctl"},
                                         {.host_path = "/dev/iluvatar3", .container_path = "/dev/iluvatar1"}};
  CHECK(got.nodes == nodes);
  CHECK(got.env == std::map<std::string, std::string>{{"IX_VISIBLE_DEVICES", "7,3"}});
}

}  // namespace
}  // namespace plughost
