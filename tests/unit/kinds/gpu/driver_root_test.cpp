// Tests `driverRoot`: NVIDIA's driver is installed in a separate directory tree.

#include "kinds/gpu/nvidia_gpu.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "places.hpp"
#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using Nodes = std::vector<DeviceNode>;

const std::string kRoot = "/run/nvidia/driver";

void install(const GpuRig& rig, const std::string& directory) {
  rig.machine.tree().directory(directory);
  const std::filesystem::path library = kFakeNvml;
  std::filesystem::copy_file(library, rig.machine.tree().at(directory) / library.filename());
}

TEST_CASE("a driver's library, cards and nodes are those below its root") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig(
      {{"vendor", text("nvidia")}, {"driverRoot", text(kRoot)}, {"passDeviceSpecs", text("true")}});
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia3", "/dev/nvidia1", "/dev/nvidia-uvm"})
    rig.machine.tree().file(kRoot + node);
  rig.machine.tree().file("/dev/nvidia-modeset");
  const Scan before = rig.scan();
  CHECK(before.devices.empty());
  CHECK(before.rescan_after == NvidiaGpus::kInterval);
  CHECK(std::ranges::count(before.watch, WatchedDirectory{kRoot + "/dev", "nvidia*"}) == 1);

  install(rig, kRoot + "/usr/lib/x86_64-linux-gnu");
  const Scan scan = rig.scan();
  REQUIRE(ids_of(scan) == std::vector<std::string>{"GPU-a", "GPU-b"});
  CHECK(value(scan.devices[0], "path") == kRoot + "/dev/nvidia3");
  CHECK(scan.devices[0].nodes == Nodes{{kRoot + "/dev/nvidiactl", "/dev/nvidiactl", "rw"},
                                       {kRoot + "/dev/nvidia-uvm", "/dev/nvidia-uvm", "rw"},
                                       {"/dev/nvidia-modeset", "/dev/nvidia-modeset", "rw"},
                                       {kRoot + "/dev/nvidia3", "/dev/nvidia3", "rw"}});
}

TEST_CASE("a library is found in the distributions' directories only") {
  const MadeSysfs machine;
  CHECK(library_below(machine.host(), kRoot, "libnvidia-ml.so.1").empty());
  machine.tree().file(kRoot + "/opt/libnvidia-ml.so.1");
  CHECK(library_below(machine.host(), kRoot, "libnvidia-ml.so.1").empty());
  machine.tree().file(kRoot + "/lib64/libnvidia-ml.so.1");
  CHECK(library_below(machine.host(), kRoot, "/somewhere/libnvidia-ml.so.1") ==
        machine.tree().at(kRoot + "/lib64/libnvidia-ml.so.1"));
  machine.tree().file(kRoot + "/usr/lib64/libnvidia-ml.so.1");
  CHECK(library_below(machine.host(), kRoot, "libnvidia-ml.so.1") ==
        machine.tree().at(kRoot + "/usr/lib64/libnvidia-ml.so.1"));
}

TEST_CASE("a node that is missing below `driverRoot` is replaced by the machine's node") {
  const MadeSysfs machine;
  machine.tree().file(kRoot + "/dev/nvidia0");
  CHECK(node_below(machine.host(), kRoot, "/dev/nvidia0") == kRoot + "/dev/nvidia0");
  CHECK(node_below(machine.host(), kRoot, "/dev/nvidia1") == "/dev/nvidia1");
  CHECK(node_below(machine.host(), "", "/dev/nvidia0") == "/dev/nvidia0");
}

TEST_CASE("`driverRoot: /` has no effect") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({{"vendor", text("nvidia")}, {"driverRoot", text("/")}});
  CHECK(ids_of(rig.scan()).size() == 2);
}

}  // namespace
}  // namespace plughost
