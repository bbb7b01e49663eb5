// Tests NVIDIA's cards when NVML cannot be used.

#include <doctest/doctest.h>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

TEST_CASE("without NVML the cards are those of the driver in /proc") {
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

const std::string kUuid = "GPU-12345678-1234-1234-1234-1234567890ab";

const std::string kOther = "GPU-22345678-1234-1234-1234-1234567890ab";

void show_in_proc(const GpuRig& rig) {
  rig.machine.tree().file("/proc/driver/nvidia/gpus/0000:3b:00.0/information",
                          "GPU UUID: " + kUuid + "\nBus Location: 0000:3b:00.0\nDevice Minor: 5\n");
}

TEST_CASE("while NVML cannot be initialized, the cards are Unhealthy with NVML's reason") {
  const FakeNvml fake("fail nvmlInit_v2 18\n");
  const GpuRig rig({{"healthChecks", text("false")}});
  show_in_proc(rig);
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == Texts{kUuid});
  CHECK(scan.devices[0].error == "NVML refuses: " + std::string(kFakeNvml) +
                                     " does not begin: Unknown Error (18); reboot the machine, or load the "
                                     "driver that matches the library");
  CHECK(scan.rescan_after == 5s);
  fake.show("card " + kUuid + " minor=5\n");
  CHECK(rig.error(kUuid).empty());
}

TEST_CASE("while NVML fails and no card is known, a scan is repeated after 5 s without a remark") {
  const FakeNvml fake("fail nvmlInit_v2 9\n");
  const GpuRig rig({});
  const Scan scan = rig.scan();
  CHECK(scan.devices.empty());
  CHECK(scan.remarks.empty());
  CHECK(scan.rescan_after == 5s);
  fake.show(kTwoCards);
  CHECK(rig.scan().devices.size() == 2);
}

TEST_CASE("a library that cannot be loaded makes the cards Unhealthy with the loader's reason") {
  const TempDir files;
  files.file("libnvidia-ml.so.1", "half of it");
  const GpuRig rig({}, files.at("libnvidia-ml.so.1"));
  show_in_proc(rig);
  CHECK(rig.error(kUuid).starts_with("NVML refuses: " + files.at("libnvidia-ml.so.1").string() + ": "));
}

TEST_CASE("if NVML starts to fail, the MIG devices that it reported before stay listed as Unhealthy") {
  const FakeNvml fake("card " + kUuid +
                      " minor=5 pci=0000:3b:00.0 mig=1\nmig 0 MIG-x gi=7 name=A_MIG_1g.5gb\n");
  const GpuRig rig({{"mig", text("mixed")}});
  show_in_proc(rig);
  CHECK(rig.error("MIG-x").empty());
  fake.show("fail nvmlDeviceGetCount_v2 999\n");
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"MIG-x"});
  CHECK(scan.devices[0].error.starts_with("NVML refuses: nvmlDeviceGetCount: "));
  CHECK(scan.rescan_after == 5s);
}

TEST_CASE("if NVML starts to fail, a card that the driver no longer lists in /proc is removed") {
  const FakeNvml fake("card " + kUuid + " minor=5 pci=0000:3b:00.0\ncard " + kOther +
                      " minor=6 pci=0000:86:00.0\n");
  const GpuRig rig({});
  show_in_proc(rig);
  CHECK(ids_of(rig.scan()) == Texts{kUuid, kOther});
  fake.show("fail nvmlDeviceGetCount_v2 999\n");
  CHECK(ids_of(rig.scan()) == Texts{kUuid});
}

TEST_CASE("on a machine without a card there are no devices, no remarks and no repeated scans") {
  const GpuRig rig({}, "libnvidia-none.so.1");
  const Scan scan = rig.scan();
  CHECK(scan.devices.empty());
  CHECK(scan.remarks.empty());
  CHECK(scan.rescan_after == 0s);
}

TEST_CASE("cards without a driver are not offered, and the log has the remedy") {
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

}  // namespace
}  // namespace plughost
