#pragma once
// An entry of the kind `gpu` on a simulated machine, with a clock that the test advances. Not thread-safe.

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "kinds/gpu/gpu.hpp"
#include "kinds/gpu/nvidia_gpus.hpp"
#include "model/allocate/allocation.hpp"
#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"
#include "places.hpp"
#include "unit/fake_nvml.hpp"
#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/kinds/found.hpp"

namespace plughost::test {

class GpuRig {
 public:
  using Keys = std::vector<std::pair<std::string, Node>>;
  using Texts = std::vector<std::string>;

  MadeSysfs machine;
  Texts problems;

  explicit GpuRig(Keys keys, const std::string& library = kFakeNvml) {
    const Node node = map({{"name", text("nvidia.com/gpu")}, {"gpu", map(std::move(keys))}});
    Diagnostics diagnostics;
    {
      Fields fields(node, "resources[0]", diagnostics);
      fields.text("name", "");
      source = read_gpu(fields, library);
    }
    for (const Diagnostic& each : diagnostics.all()) problems.push_back(each.path + ": " + each.what);
  }

  // Waits until NVML is closed, so that this rig's thread does not close it during the next test.
  ~GpuRig() {
    source.reset();
    CHECK(NvidiaGpus::all_let_go(std::chrono::seconds(10)));
  }

  Scan scan(const Choice& choice = {}) const { return scan_for(taking(choice)); }
  Scan scan_for(const AllocationSpec& spec) const {
    REQUIRE(problems == Texts{});
    return source->scan_chosen(machine.host(), spec);
  }
  static void wait(std::chrono::milliseconds duration) { LoopClock::advance(duration); }

  // Scans, and returns the error of the device with this id; empty: the device is Healthy.
  std::string error(const std::string& id) const {
    for (const Device& device : scan().devices) {
      if (device.id == id) return device.error;
    }
    return "not listed";
  }

  std::unique_ptr<const DeviceSource> source;
};

// Returns the response to an Allocate of these ids, for an entry with `spec` and one resource, by default
// nvidia.com/gpu.
inline std::variant<Allocation, Refusal> answer(const Scan& scan, AllocationSpec spec,
                                                const std::vector<std::string>& ids) {
  if (spec.name.empty()) spec.name = Template("nvidia.com/gpu");
  Assembly assembly = assemble(spec, scan.devices);
  REQUIRE(assembly.resources.size() == 1);
  const auto& [resource, devices] = *assembly.resources.begin();
  return allocate(resource, spec, Inventory(devices), ids);
}

inline Allocation allocation(const Scan& scan, const AllocationSpec& spec,
                             const std::vector<std::string>& ids) {
  const auto result = answer(scan, spec, ids);
  if (const auto* refusal = std::get_if<Refusal>(&result)) FAIL(refusal->text);
  return std::get<Allocation>(result);
}

inline const std::string kPciRoot = "/sys/devices/pci0000:00/";
inline const std::string kTwoCards =
    "card GPU-a minor=3 pci=0000:3b:00.0 memory=81559 name=NVIDIA_H100\n"
    "card GPU-b minor=1 pci=0000:86:00.0 memory=40960\n";
inline const std::string kDividedCards =
    "card GPU-a minor=3 mig=1\n"
    "mig 0 MIG-x gi=7 ci=0 memory=4864 name=NVIDIA_A100_MIG_1g.5gb\n"
    "mig 0 MIG-y gi=8 ci=0 memory=9856 name=NVIDIA_A100_MIG_1g.10gb+me\n"
    "card GPU-b minor=1\n";

inline void add_pci(const MadeSysfs& machine, const std::string& address, const std::string& vendor,
                    const std::string& class_code, const std::string& driver) {
  const std::string path = kPciRoot + address;
  machine.device(
      path, "pci",
      {{"vendor", "0x" + vendor}, {"device", "0x1234"}, {"class", "0x" + class_code}, {"numa_node", "1"}});
  if (!driver.empty()) machine.bind(path, driver);
}

}  // namespace plughost::test
