// Checks that each file of plugins.d finds exactly its devices on a simulated machine that has devices for
// every preset.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "model/device/assembly.hpp"
#include "places.hpp"
#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/made_specification.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;
using test::keep_machine;
using test::MadeSysfs;
using Texts = std::vector<std::string>;
using Attributes = MadeSysfs::Texts;

const fs::path kPresetFiles = test::in_source("/plugins.d");
const std::string kPci = "/sys/devices/pci0000:00/";
const std::string kVirtual = "/sys/devices/virtual/";

void pci_card(const MadeSysfs& machine, const std::string& address, const std::string& ids,
              const std::string& class_code, const std::string& driver) {
  machine.device(
      kPci + address, "pci",
      {{"vendor", "0x" + ids.substr(0, 4)}, {"device", "0x" + ids.substr(5)}, {"class", "0x" + class_code}});
  machine.bind(kPci + address, driver);
}

// Adds a device with a device node to the machine. `path` is its directory in /sys.
void noded(const MadeSysfs& machine, const std::string& path, const std::string& subsystem,
           const std::string& node, const Attributes& attributes = {}) {
  machine.device(path, subsystem, attributes, {{"DEVNAME", node}});
}

void usb_device(const MadeSysfs& machine, unsigned port, const std::string& ids) {
  const std::string n = std::to_string(port);
  machine.device(kPci + "0000:00:14.0/usb1/1-" + n, "usb",
                 {{"idVendor", ids.substr(0, 4)}, {"idProduct", ids.substr(5)}},
                 {{"DEVTYPE", "usb_device"}, {"DEVNAME", "bus/usb/001/00" + n}});
}

void add_cards(const MadeSysfs& machine) {
  pci_card(machine, "0000:01:00.0", "1ac1:089a", "0880ff", "apex");
  noded(machine, kPci + "0000:01:00.0/apex/apex_0", "apex", "apex_0");
  pci_card(machine, "0000:02:00.0", "1e60:2864", "0b4000", "hailo");
  noded(machine, kVirtual + "hailo_chardev/hailo0", "hailo_chardev", "hailo0");
  pci_card(machine, "0000:00:0b.0", "8086:7d1d", "120000", "intel_vpu");
  noded(machine, kPci + "0000:00:0b.0/accel/accel0", "accel", "accel/accel0");
  pci_card(machine, "0000:04:00.0", "1022:17f0", "118000", "amdxdna");
  noded(machine, kPci + "0000:04:00.0/accel/accel1", "accel", "accel/accel1");
  pci_card(machine, "0000:05:00.0", "1e52:401e", "120000", "tenstorrent");
  noded(machine, kPci + "0000:05:00.0/tenstorrent/tenstorrent!0", "tenstorrent", "tenstorrent/0");
  pci_card(machine, "0000:06:00.0", "1002:73bf", "030000", "amdgpu");
  noded(machine, kPci + "0000:06:00.0/drm/card0", "drm", "dri/card0");
  noded(machine, kPci + "0000:06:00.0/drm/renderD128", "drm", "dri/renderD128");
  pci_card(machine, "0000:07:00.0", "8086:56a0", "030000", "xe");
  noded(machine, kPci + "0000:07:00.0/drm/card1", "drm", "dri/card1");
  pci_card(machine, "0000:08:00.0", "15b3:1017", "020700", "vfio-pci");
  machine.tree().directory("/sys/kernel/iommu_groups/42");
  machine.link(kPci + "0000:08:00.0/iommu_group", "/sys/kernel/iommu_groups/42");
  noded(machine, kVirtual + "vfio/42", "vfio", "vfio/42");
  pci_card(machine, "0000:09:00.0", "15b3:1017", "020700", "mlx5_core");
  machine.device(kPci + "0000:09:00.0/infiniband/mlx5_0", "infiniband", {{"node_guid", "1:2:3:4"}});
  machine.attribute(kPci + "0000:09:00.0/infiniband/mlx5_0", "ports/1/state", "4: ACTIVE");
  machine.attribute(kPci + "0000:09:00.0/infiniband/mlx5_0", "ports/1/link_layer", "InfiniBand");
  noded(machine, kVirtual + "misc/rdma_cm", "misc", "infiniband/rdma_cm");
  noded(machine, kPci + "0000:09:00.0/infiniband_verbs/uverbs0", "infiniband_verbs", "infiniband/uverbs0",
        {{"ibdev", "mlx5_0"}});
}

void add_usb(const MadeSysfs& machine) {
  usb_device(machine, 1, "1a6e:089a");
  usb_device(machine, 2, "18d1:9302");
  usb_device(machine, 3, "0bda:2838");
  usb_device(machine, 4, "1d50:6089");
  usb_device(machine, 5, "2cf0:5250");
  usb_device(machine, 6, "1050:0407");
  noded(machine, kPci + "0000:00:14.0/usb1/1-6/hidraw/hidraw0", "hidraw", "hidraw0");
  usb_device(machine, 7, "0403:6001");
  noded(machine, kPci + "0000:00:14.0/usb1/1-7/tty/ttyUSB0", "tty", "ttyUSB0");
  usb_device(machine, 8, "046d:0825");
  machine.device(kPci + "0000:00:14.0/usb1/1-8/video4linux/video0", "video4linux", {{"index", "0"}},
                 {{"MAJOR", "81"}, {"MINOR", "0"}, {"DEVNAME", "video0"}});
  machine.tree().file("/run/udev/data/c81:0",
                      "E:ID_V4L_CAPABILITIES=:capture:\nE:ID_VENDOR_ID=046d\nG:seat\n");
  noded(machine, kPci + "0000:00:14.0/usb1/1-8/video4linux/video1", "video4linux", "video1",
        {{"index", "1"}});
}

void add_others(const MadeSysfs& machine) {
  noded(machine, kVirtual + "video4linux/video9", "video4linux", "video9", {{"max_openers", "10"}});
  noded(machine, kVirtual + "ipmi/ipmi0", "ipmi", "ipmi0");
  noded(machine, kVirtual + "watchdog/watchdog0", "watchdog", "watchdog0");
  noded(machine, kVirtual + "ptp/ptp0", "ptp", "ptp0");
  noded(machine, kVirtual + "pps/pps0", "pps", "pps0");
  noded(machine, kVirtual + "graphics/fb0", "graphics", "fb0");
  machine.device(kVirtual + "graphics/fbcon", "graphics");
  noded(machine, kVirtual + "gpio/gpiochip0", "gpio", "gpiochip0");
  noded(machine, kVirtual + "i2c-dev/i2c-1", "i2c-dev", "i2c-1");
  noded(machine, kVirtual + "spidev/spidev0.1", "spidev", "spidev0.1");
  machine.device(kVirtual + "net/can0", "net", {{"type", "280"}});
  machine.device(kVirtual + "net/lo", "net", {{"type", "772"}});
  machine.tree().file("/etc/gophers/amy");
  // The test creates links instead of device nodes, because nodes need root.
  for (const char* node : {"kvm",
                           "vhost-net",
                           "fuse",
                           "net/tun",
                           "gdrdrv",
                           "kfd",
                           "sgx_enclave",
                           "sgx_provision",
                           "tdx_guest",
                           "sev",
                           "sev-guest",
                           "tpmrm0",
                           "loop0",
                           "loop-control",
                           "accel/accel0",
                           "accel/accel_controlD0",
                           "snd",
                           "serial/by-id/usb-dresden_elektronik_GmbH_ConBee_II_DE2132111-if00",
                           "serial/by-id/usb-ITEAD_SONOFF_Zigbee_3.0_USB_Dongle_Plus_V2_2024-if00",
                           "serial/by-id/usb-Nabu_Casa_SkyConnect_v1.0-if00-port0",
                           "serial/by-id/usb-Nabu_Casa_ZBT-2_10B41DE58D6C-if00",
                           "serial/by-id/usb-SMLIGHT_SMLIGHT_SLZB-07_be9f-if00-port0",
                           "serial/by-id/usb-FTDI_ZiGate_ZIGATE+-if00-port0",
                           "serial/by-id/usb-Silicon_Labs_HubZ_Smart_Home_Controller_C0F003D3-if00-port0",
                           "serial/by-id/usb-Silicon_Labs_HubZ_Smart_Home_Controller_C0F003D3-if01-port0",
                           "serial/by-id/usb-0658_0200-if00",
                           "serial/by-id/usb-Zooz_800_Z-Wave_Stick_533D004242-if00",
                           "serial/by-id/usb-Nabu_Casa_ZWA-2_1CDBD4AD2A04-if00"})
    machine.tree().link(std::string("/dev/") + node, "/dev/null");
}

// Returns the devices that the preset finds, as "resource device: nodes (error)".
Texts found_by(const fs::path& preset, const MadeSysfs& machine) {
  Texts found;
  for (const ResourceConfig& entry : load_config(preset).resources) {
    Scan scan = entry.source->scan_chosen(machine.host(), *entry.spec);
    const Assembly assembly = assemble(*entry.spec, std::move(scan.devices));
    CHECK(scan.remarks.empty());
    CHECK(assembly.remarks.empty());
    for (const auto& [resource, devices] : assembly.resources) {
      for (const Device& device : devices) {
        std::string line = resource + ' ' + device.id + ':';
        for (const DeviceNode& node : device.nodes) line += ' ' + node.host_path;
        if (!device.healthy()) line += " (" + device.error + ')';
        found.push_back(std::move(line));
      }
    }
  }
  return found;
}

const std::string kById = "/dev/serial/by-id/";

std::string stick(const std::string& resource, const std::string& name) {
  return resource + ' ' + name + ": " + kById + name;
}

const std::map<std::string, Texts> kFound{
    {"amd-gpu", {"amd.com/gpu 0000:06:00.0: /dev/kfd /dev/dri/card0 /dev/dri/renderD128"}},
    {"amd-npu", {"amd.com/npu 0000:04:00.0: /dev/accel/accel1"}},
    {"can", {"can/interface can0:"}},
    {"coral-pcie", {"coral.ai/pcie-accelerator 0000:01:00.0: /dev/apex_0"}},
    {"coral-usb",
     {"coral.ai/usb-accelerator usb-1-1: /dev/bus/usb/001/001",
      "coral.ai/usb-accelerator usb-1-2: /dev/bus/usb/001/002"}},
    {"dri",
     {"dri/gpu 0000:06:00.0: /dev/dri/card0 /dev/dri/renderD128", "dri/gpu 0000:07:00.0: /dev/dri/card1"}},
    {"drm-render", {"dri/render renderD128: /dev/dri/renderD128"}},
    {"framebuffer", {"screen/framebuffer fb0: /dev/fb0"}},
    {"fuse", {"smarter-devices/fuse fuse: /dev/fuse"}},
    {"gaudi", {"habana.ai/gaudi accel_accel0: /dev/accel/accel0 /dev/accel/accel_controlD0"}},
    {"gdrdrv", {"nvidia.com/gdrdrv gdrdrv: /dev/gdrdrv"}},
    {"gopher", {"lixueduan.com/gopher amy:"}},
    {"gpio", {"squat.ai/gpio gpiochip0: /dev/gpiochip0"}},
    {"hailo", {"hailo.ai/accelerator hailo0: /dev/hailo0"}},
    {"hidraw", {"example.com/security-key hidraw0: /dev/hidraw0"}},
    {"i2c", {"squat.ai/i2c i2c-1: /dev/i2c-1"}},
    {"intel-gpu", {"gpu.intel.com/xe 0000:07:00.0: /dev/dri/card1"}},
    {"intel-npu", {"npu.intel.com/accel 0000:00:0b.0: /dev/accel/accel0"}},
    {"ipmi", {"ipmi/controller ipmi0: /dev/ipmi0"}},
    {"kvm", {"smarter-devices/kvm kvm: /dev/kvm"}},
    {"kvm-vhost", {"kvm/vhost kvm: /dev/kvm /dev/vhost-net"}},
    {"loop", {"smarter-devices/loop loop0: /dev/loop0 /dev/loop-control"}},
    {"ptp-pps", {"clock/ptp ptp0: /dev/ptp0", "clock/pps pps0: /dev/pps0"}},
    {"rdma-exclusive", {"rdma/hca 0000:09:00.0: /dev/infiniband/uverbs0 /dev/infiniband/rdma_cm"}},
    {"rdma-shared",
     {"rdma/hca_shared_devices_a rdma/hca_shared_devices_a: /dev/infiniband/uverbs0 "
      "/dev/infiniband/rdma_cm"}},
    {"sdr",
     {"radio/sdr usb-1-3: /dev/bus/usb/001/003", "radio/sdr usb-1-4: /dev/bus/usb/001/004",
      "radio/sdr usb-1-5: /dev/bus/usb/001/005"}},
    {"sev", {"sev/host sev: /dev/sev", "sev/guest sev-guest: /dev/sev-guest"}},
    {"sgx",
     {"sgx.intel.com/enclave sgx_enclave: /dev/sgx_enclave",
      "sgx.intel.com/provision sgx_provision: /dev/sgx_provision"}},
    {"sound", {"smarter-devices/snd snd: /dev/snd"}},
    {"spi", {"squat.ai/spi spidev0.1: /dev/spidev0.1"}},
    {"tdx", {"tdx/guest tdx_guest: /dev/tdx_guest"}},
    {"tenstorrent", {"tenstorrent.com/card 0000:05:00.0: /dev/tenstorrent/0"}},
    {"tpm", {"smarter-devices/tpmrm0 tpmrm0: /dev/tpmrm0"}},
    {"tun", {"smarter-devices/net_tun net_tun: /dev/net/tun"}},
    {"usb-serial", {"squat.ai/serial usb-1-7: /dev/ttyUSB0"}},
    {"v4l2loopback", {"video/loopback video9: /dev/video9"}},
    {"vfio", {"vfio/pci 0000:08:00.0: /dev/vfio/42 /dev/vfio/vfio"}},
    {"video4linux", {"squat.ai/video video0: /dev/video0"}},
    {"watchdog", {"watchdog/timer watchdog0: /dev/watchdog0"}},
    {"zigbee",
     {stick("smart-home/zigbee", "usb-FTDI_ZiGate_ZIGATE+-if00-port0"),
      stick("smart-home/zigbee", "usb-ITEAD_SONOFF_Zigbee_3.0_USB_Dongle_Plus_V2_2024-if00"),
      stick("smart-home/zigbee", "usb-Nabu_Casa_SkyConnect_v1.0-if00-port0"),
      stick("smart-home/zigbee", "usb-Nabu_Casa_ZBT-2_10B41DE58D6C-if00"),
      stick("smart-home/zigbee", "usb-SMLIGHT_SMLIGHT_SLZB-07_be9f-if00-port0"),
      stick("smart-home/zigbee", "usb-Silicon_Labs_HubZ_Smart_Home_Controller_C0F003D3-if01-port0"),
      stick("smart-home/zigbee", "usb-dresden_elektronik_GmbH_ConBee_II_DE2132111-if00")}},
    {"zwave",
     {stick("smart-home/zwave", "usb-0658_0200-if00"),
      stick("smart-home/zwave", "usb-Nabu_Casa_ZWA-2_1CDBD4AD2A04-if00"),
      stick("smart-home/zwave", "usb-Silicon_Labs_HubZ_Smart_Home_Controller_C0F003D3-if00-port0"),
      stick("smart-home/zwave", "usb-Zooz_800_Z-Wave_Stick_533D004242-if00")}},
};
// Tested elsewhere: NVIDIA's and Iluvatar's cards need a library and a driver (tests/unit/kinds/gpu), and
// `count` reads nothing from the machine.
const std::vector<std::string> kElsewhere{"count",      "gpu-memory",        "iluvatar-gpu",
                                          "nvidia-gpu", "nvidia-gpu-shared", "nvidia-mig"};

TEST_CASE("each file of plugins.d finds its own devices only, and none on an empty machine") {
  const MadeSysfs machine;
  add_cards(machine);
  add_usb(machine);
  add_others(machine);
  keep_machine(machine.tree().path());
  const MadeSysfs bare;
  for (const auto& expected : kFound) {
    const std::string& preset = expected.first;
    CAPTURE(preset);
    CHECK(joined(found_by(kPresetFiles / (preset + ".yaml"), machine), "\n") ==
          joined(expected.second, "\n"));
    CHECK(found_by(kPresetFiles / (preset + ".yaml"), bare).empty());
  }
}

TEST_CASE("every file of plugins.d is tested, and has at most 15 lines, the first of them its description") {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kPresetFiles)) {
    const std::string preset = entry.path().stem();
    CAPTURE(preset);
    ++files;
    CHECK((kFound.contains(preset) || std::ranges::find(kElsewhere, preset) != kElsewhere.end()));
    std::ifstream text(entry.path());
    std::size_t lines = 0;
    for (std::string line; std::getline(text, line); ++lines)
      if (lines == 0) CHECK(line.starts_with("# "));
    CHECK(lines <= 16);
  }
  CHECK(files == kFound.size() + kElsewhere.size());
}

}  // namespace
}  // namespace plughost
