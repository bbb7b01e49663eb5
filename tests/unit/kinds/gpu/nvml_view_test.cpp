// Tests NVIDIA's cards on a recorded machine.

#include "kinds/gpu/nvml_cards.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "places.hpp"
#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

HostRoot with_view(const HostRoot& host, NvmlView view) {
  return host.noted({}, std::make_shared<const NvmlView>(std::move(view)));
}

constexpr const char* kMinors = "gpu3/gi7/access 66\ngpu3/gi7/ci0/access 67\ngpu3/gi8/access 75\n";

TEST_CASE("a scan finds the same from a recorded view as from NVML itself") {
  for (const char* mig : {"none", "mixed"}) {
    CAPTURE(mig);
    const FakeNvml fake(kDividedCards + "card GPU-c fabric=2\nlink 0 0 1\nlevel 0 1 20\n");
    const GpuRig rig({{"mig", text(mig)}, {"passDeviceSpecs", text("true")}});
    rig.machine.tree().file("/proc/driver/nvidia-caps/mig-minors", kMinors);
    const Scan expected = rig.scan();
    const NvmlView view = query_nvml(rig.machine.host(), kFakeNvml);
    CHECK(view.error.empty());
    const GpuRig other({{"mig", text(mig)}, {"passDeviceSpecs", text("true")}});
    const HostRoot recorded = with_view(rig.machine.host(), view);
    const Scan found = other.source->scan_chosen(recorded, {});
    REQUIRE(ids_of(found) == ids_of(expected));
    for (std::size_t i = 0; i < found.devices.size(); ++i) {
      Device device = expected.devices[i];
      device.spec = found.devices[i].spec;  // each source has its own spec object
      CHECK(found.devices[i] == device);
    }
    CHECK(found.remarks == expected.remarks);
  }
}

TEST_CASE("the library of this machine is not loaded for a recorded one") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  NvmlView view;
  view.cards.emplace_back().uuid = "GPU-far";
  CHECK(ids_of(rig.source->scan_chosen(with_view(rig.machine.host(), view), {})) == Texts{"GPU-far"});
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("for a recorded machine, the recorded error of NVML is reported") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  add_pci(rig.machine, "0000:3b:00.0", "10de", "030200", "nouveau");
  NvmlView view;
  view.error = "there was none";
  const Scan scan = rig.source->scan_chosen(with_view(rig.machine.host(), view), {});
  CHECK(scan.devices.empty());
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].find("NVML cannot be used (there was none)") != std::string::npos);
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("if the recorded NVML could not be initialized, the recorded cards are Unhealthy") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  rig.machine.tree().file("/proc/driver/nvidia/gpus/0000:3b:00.0/information",
                          "GPU UUID: GPU-12345678-1234-1234-1234-1234567890ab\n");
  NvmlView view;
  view.error = "versions differ";
  CHECK(rig.source->scan_chosen(with_view(rig.machine.host(), view), {}).devices.at(0).healthy());
  view.refuses = true;
  CHECK(rig.source->scan_chosen(with_view(rig.machine.host(), view), {}).devices.at(0).error ==
        "NVML refuses: versions differ");
}

TEST_CASE("if NVML cannot be loaded or cannot list the cards, the view has the error") {
  const MadeSysfs machine;
  const NvmlView missing = query_nvml(machine.host(), "/none/libnvidia-ml.so.1");
  CHECK(missing.error.starts_with("/none/libnvidia-ml.so.1: "));
  CHECK_FALSE(missing.refuses);
  const FakeNvml fake("fail nvmlDeviceGetCount_v2 1\n");
  const NvmlView view = query_nvml(machine.host(), kFakeNvml);
  CHECK(view.cards.empty());
  CHECK(view.error.starts_with("nvmlDeviceGetCount: "));
  CHECK(view.refuses);
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("nvidia-ctk is not run by a scan without programs") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({{"deviceListStrategy", text("cdi-cri")}, {"nvidiaCtk", text("/bin/false")}});
  NvmlView view;
  view.cards.emplace_back().uuid = "GPU-far";
  const HostRoot noted = rig.machine.host().noted([](HostRoot::Look, const std::string&) {},
                                                  std::make_shared<const NvmlView>(view));
  const Scan quiet = rig.source->scan_chosen(noted, {});
  REQUIRE(quiet.devices.size() == 1);
  CHECK(quiet.devices[0].healthy());
  CHECK(quiet.cdi.empty());
}

}  // namespace
}  // namespace plughost
