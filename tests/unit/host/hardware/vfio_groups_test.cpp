#include "host/hardware/pci_function.hpp"

#include <doctest/doctest.h>

#include "unit/host/hardware/made_sysfs.hpp"

using namespace plughost;

namespace {

const std::string kRoot = "/sys/devices/pci0000:00/";

void add(const test::MadeSysfs& machine, const std::string& address, const std::string& class_code,
         const std::string& driver) {
  machine.device(kRoot + address, "pci", {{"class", class_code}});
  if (!driver.empty()) machine.bind(kRoot + address, driver);
  machine.link(kRoot + address + "/iommu_group", "/sys/kernel/iommu_groups/15");
}

std::string error(const test::MadeSysfs& machine, const char* group = "15") {
  return VfioGroups(machine.host()).error_of(group);
}

}  // namespace

TEST_CASE("a VFIO group is viable if each function has no driver, one of VFIO's, pci-stub, or is a bridge") {
  const test::MadeSysfs machine;
  CHECK(error(machine).empty());
  add(machine, "0000:01:00.0", "0x030000", "vfio-pci");
  add(machine, "0000:01:00.1", "0x040300", "");
  add(machine, "0000:01:00.2", "0x0c0330", "pci-stub");
  add(machine, "0000:01:00.3", "0x020000", "mlx5_vfio_pci");
  add(machine, "0000:00:01.0", "0x060400", "pcieport");
  add(machine, "0000:00:02.0", "0x060700", "yenta_cardbus");
  CHECK(error(machine).empty());
}

TEST_CASE(
    "the error about a VFIO group names the functions with other drivers, but not functions of other "
    "groups") {
  const test::MadeSysfs machine;
  add(machine, "0000:01:00.0", "0x030000", "vfio-pci");
  add(machine, "0000:01:00.1", "0x040300", "snd_hda_intel");
  add(machine, "0000:01:00.2", "0x0c0330", "xhci_hcd");
  add(machine, "0000:00:1f.0", "0x060100", "lpc_ich");
  CHECK(error(machine) ==
        "IOMMU group 15 is not viable: 0000:00:1f.0 has the driver lpc_ich, 0000:01:00.1 has the driver "
        "snd_hda_intel, 0000:01:00.2 has the driver xhci_hcd; bind each function of the group to vfio-pci, "
        "or to no driver");
  CHECK(error(machine, "16").empty());
}

TEST_CASE(
    "the group of a node is found for each form: /dev/vfio/N, /dev/vfio/noiommu-N and "
    "/dev/vfio/devices/vfioN") {
  const test::MadeSysfs machine;
  add(machine, "0000:01:00.0", "0x030000", "vfio-pci");
  machine.device(kRoot + "0000:01:00.0/vfio-dev/vfio3", "vfio-dev");
  const HostRoot host = machine.host();
  const VfioGroups groups(host);
  CHECK(groups.group_of("/dev/vfio/15") == "15");
  CHECK(groups.group_of("/dev/vfio/noiommu-7") == "7");
  CHECK(groups.group_of("/dev/vfio/devices/vfio3") == "15");
  for (const char* other : {"/dev/vfio/devices/vfio4", "/dev/vfio/vfio", "/dev/vfio/", "/dev/15"})
    CHECK(groups.group_of(other).empty());
}
