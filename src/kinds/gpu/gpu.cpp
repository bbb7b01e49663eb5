// `gpu: {vendor, deviceListStrategy, mig, unit, …}`: cards of NVIDIA, AMD, Intel and Iluvatar.

#include "kinds/gpu/gpu.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "host/hardware/pci_function.hpp"
#include "host/hardware/sysfs.hpp"
#include "kinds/gpu/nvidia_cdi.hpp"
#include "kinds/gpu/nvidia_gpu.hpp"
#include "kinds/gpu/other_gpus.hpp"
#include "kinds/gpu/terms.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

constexpr std::string_view kGpuAttributes[] = {"pci",     "uuid",   "index",   "minor",   "name", "path",
                                               "vendor",  "driver", "memory",  "profile", "type", "numa",
                                               "visible", "cdi",    "pciPath", "device"};
constexpr std::string_view kUnitNames[] = {"units", "cardUnits", "totalUnits"};
constexpr std::string_view kGpuSubsystems[] = {"drm", "module", "pci"};

std::string memory_words(std::uint64_t bytes) {
  const std::uint64_t whole = bytes / CardUnit::kMiB;
  return whole % 1024 == 0 ? std::to_string(whole / 1024) + "GiB" : std::to_string(whole) + "MiB";
}

class Gpu final : public DeviceSource {
 public:
  // `name` is the resource's name, for MPS; empty if the name depends on the devices.
  Gpu(GpuTerms terms, std::string name, const std::string& nvml)
      : terms_(std::move(terms)),
        name_(std::move(name)),
        spec_(nvidia_spec(terms_.injection)),
        cdi_(terms_.nvidia_ctk, terms_.nvidia.driver_root, terms_.injection.by_index),
        nvidia_(terms_.nvidia, nvml) {}

  Scan scan(const HostRoot& host) const override;
  void finish(Scan& taken, const AllocationSpec& spec) const override;
  std::optional<SharesOf> units() const override {
    if (terms_.unit.whole()) return std::nullopt;
    // With `assume`, the scheduler chooses the card, and ids of any card are accepted.
    return terms_.span_cards || terms_.assume ? SharesOf::kAny : SharesOf::kOneDevice;
  }
  std::optional<AssumeTerms> assume() const override { return terms_.assume; }
  std::vector<std::shared_ptr<const KindSpec>> specs() const override;
  void set_fault(const Device& device, const std::string& fault) const override {
    if (const std::string* const uuid = device.attribute("uuid")) nvidia_.set_fault(*uuid, fault);
  }
  void rest(bool at_rest) const override { nvidia_.rest(at_rest); }
  SandboxNeeds sandbox_needs() const override { return {.nvml = wants(GpuVendor::kNvidia)}; }
  std::unique_ptr<SourceWatch> watch(Programs& programs,
                                     const std::function<void()>& request_scan) const override {
    return terms_.injection.by_cdi() ? cdi_.watch(programs, request_scan) : nullptr;
  }

 private:
  bool wants(GpuVendor vendor) const { return terms_.vendor == GpuVendor::kAuto || terms_.vendor == vendor; }
  void add_nvidia(const HostRoot& host, Scan& scan) const;
  Device device_of(const NvidiaGpu& gpu, const HostRoot& host, const std::vector<std::string>& shared) const;
  std::string mps_error(const HostRoot& host, Scan& scan) const;
  std::uint64_t units_of(const Device& card, std::uint64_t memory_unit) const;
  void divide(Scan& scan, const AllocationSpec& spec) const;

  GpuTerms terms_;
  std::string name_;
  std::shared_ptr<const KindSpec> spec_;
  mutable NvidiaCdi cdi_;
  mutable NvidiaGpus nvidia_;
};

Scan Gpu::scan(const HostRoot& host) const {
  const NvidiaGpus::Session alone = nvidia_.open_session();
  Scan scan;
  scan.subsystems = {std::begin(kGpuSubsystems), std::end(kGpuSubsystems)};
  const auto add = [&](std::vector<Device> devices) {
    std::ranges::move(devices, std::back_inserter(scan.devices));
  };
  if (wants(GpuVendor::kAmd)) add(amd_gpus(host, scan));
  if (wants(GpuVendor::kIntel)) add(intel_gpus(host, scan));
  if (wants(GpuVendor::kIluvatar)) add(iluvatar_gpus(host, scan));
  if (wants(GpuVendor::kNvidia)) add_nvidia(host, scan);  // last, because it needs the shortest scan interval
  return scan;
}

void Gpu::finish(Scan& taken, const AllocationSpec& spec) const {
  const NvidiaGpus::Session alone = nvidia_.open_session();
  nvidia_.check_mig(taken);
  const auto is_nvidia = [](const Device& device) { return device.value("vendor") == "nvidia"; };
  // Devices of other vendors need neither MPS nor nvidia-ctk.
  if (std::ranges::none_of(taken.devices, is_nvidia)) {
    taken.undecided = false;
    taken.not_yet.clear();
    taken.cdi.clear();
  }
  if (!terms_.unit.whole()) divide(taken, spec);
}

void Gpu::add_nvidia(const HostRoot& host, Scan& scan) const {
  // A driver that is loaded later creates its nodes then.
  scan.watch.push_back({"/dev", "nvidia*"});
  const std::string& root = terms_.nvidia.driver_root;
  if (!root.empty()) scan.watch.push_back({root + "/dev", "nvidia*"});
  std::vector<NvidiaGpu> gpus = nvidia_.find(host, scan);
  std::vector<std::string> shared;
  for (const char* const node : kNvidiaNodes)
    if (host.exists(node_below(host, root, node))) shared.emplace_back(node);
  const std::string error = gpus.empty() || !terms_.injection.mps ? "" : mps_error(host, scan);
  // Cards that cannot be used yet must not be offered at the start, because containers would fail.
  scan.not_yet = error;
  for (NvidiaGpu& gpu : gpus)
    if (gpu.error.empty()) gpu.error = error;
  if (terms_.injection.by_cdi()) cdi_.describe(host, gpus, nvidia_.library(), scan);
  for (const NvidiaGpu& gpu : gpus) scan.devices.push_back(device_of(gpu, host, shared));
  scan.funnels.push_back({.selector = "gpu",
                          .candidates = "nvidia GPU",
                          .seen = gpus.size(),
                          .nothing = gpus.empty() ? why_no_nvidia_gpu(host) : ""});
}

Device Gpu::device_of(const NvidiaGpu& gpu, const HostRoot& host,
                      const std::vector<std::string>& shared) const {
  Device device;
  device.id = gpu.uuid;
  device.error = gpu.error;
  device.lasting = gpu.error_lasts;
  device.spec = spec_;
  if (!gpu.bonds.empty()) device.hardware.edit().bonds = gpu.bonds;
  const std::string& visible = terms_.injection.by_index ? gpu.index : gpu.uuid;
  device.add("vendor", "nvidia");
  device.add("driver", "nvidia");
  device.add("uuid", gpu.uuid);
  device.add("index", gpu.index);
  device.add("minor", gpu.minor ? std::to_string(*gpu.minor) : "");
  device.add("name", gpu.name);
  device.add("pci", gpu.pci);
  const auto host_path = [&](const std::string& node) {
    return node_below(host, terms_.nvidia.driver_root, node);
  };
  device.add("path", gpu.nodes.empty() ? "" : host_path(gpu.nodes.front()));
  device.add("memory", gpu.memory > 0 ? std::to_string(gpu.memory / CardUnit::kMiB) : "");
  device.add("profile", gpu.profile);
  device.add("type",
             gpu.profile.empty() || terms_.nvidia.mig != MigStrategy::kMixed ? "gpu" : "mig-" + gpu.profile);
  device.add("visible", visible);
  device.add("cdi", nvidia_cdi_name(visible));
  const auto function =
      gpu.pci.empty() ? std::nullopt : SysDevice::at(host, "/sys/bus/pci/devices/" + gpu.pci);
  std::string place = "nvidia";
  if (function) {
    const PciFunction its = pci_function(*function);
    device.add("pciPath", its.path);
    device.add_numa_node(function->numa_node());
    if (its.vendor == "10de") place = function->path();
  }
  // A MIG device is below its card's place.
  if (place == "nvidia" || !gpu.profile.empty()) place += '/' + gpu.uuid;
  device.hardware.edit().units = {std::move(place)};
  if (!terms_.injection.pass_device_specs) return device;
  for (const auto* nodes : {&shared, &gpu.nodes}) {
    for (const std::string& path : *nodes)
      device.nodes.push_back({.host_path = host_path(path), .container_path = Template::escape(path)});
  }
  return device;
}

// Returns an error until the control daemon has created its pipes, which it does when it starts.
std::string Gpu::mps_error(const HostRoot& host, Scan& scan) const {
  const std::string control =
      terms_.injection.mps_root + '/' + (name_.empty() ? "*/*" : name_) + "/pipe/control";
  HostRoot::Match found = host.glob(control);
  std::ranges::move(found.watch, std::back_inserter(scan.watch));
  return found.paths.empty() ? "the MPS control daemon is not ready: there is no " + control : "";
}

std::vector<std::shared_ptr<const KindSpec>> Gpu::specs() const {
  std::vector<std::shared_ptr<const KindSpec>> specs;
  if (wants(GpuVendor::kNvidia)) specs.push_back(spec_);
  if (wants(GpuVendor::kIluvatar)) specs.push_back(iluvatar_spec());
  return specs;
}

// Returns the card's number of units. `memory_unit` is in bytes: the entry's, or a larger one for comparison.
std::uint64_t Gpu::units_of(const Device& card, std::uint64_t memory_unit) const {
  if (terms_.unit.cores > 0) return kCoresOfACard / terms_.unit.cores;
  const std::string* const memory = card.attribute("memory");
  return memory ? std::stoull(*memory) * CardUnit::kMiB / memory_unit : 0;
}

// Makes each card's units its replicas. Throws if their ids do not fit into one message to the kubelet.
void Gpu::divide(Scan& scan, const AllocationSpec& spec) const {
  const std::uint64_t unit = terms_.unit.memory;
  const auto fits = [&](const AllocationSpec& listed, std::uint64_t memory_unit) {
    std::vector<Device> cards;
    for (const Device& each : scan.devices) {
      const auto count = static_cast<unsigned>(units_of(each, memory_unit));
      if (count == 0) continue;
      Device& card = cards.emplace_back();
      card.id = each.id;
      card.attributes = each.attributes;
      card.numa_nodes = each.numa_nodes;
      card.replicas = count;
    }
    return listed_size(listed, std::move(cards)) <= kListLimit;
  };
  if (unit > 0 && !fits(spec, unit)) {
    std::uint64_t larger = unit;
    while (!fits(spec, larger)) larger *= 2;
    AllocationSpec shorter = spec;
    shorter.id = Template("{index}");
    throw std::runtime_error(
        "with `unit: {memory: " + memory_words(unit) +
        "}` the ids of this machine's cards do not fit into one message to the kubelet (4 MiB); " +
        memory_words(larger) + " would fit" +
        (fits(shorter, unit) ? ", and so would shorter ids, as in `id: \"{index}\"`" : ""));
  }
  Funnel funnel{.selector = "gpu.unit", .candidates = "card"};
  for (Device& device : scan.devices) device.replicas = static_cast<unsigned>(units_of(device, unit));
  std::erase_if(scan.devices, [&](const Device& device) {
    const std::string rule =
        device.replicas > 0 ? "" : "the size of its memory is unknown, or below one unit";
    if (!rule.empty()) scan.remarks.push_back(device.id + " is left out: " + rule);
    return !funnel.pass(rule);
  });
  scan.funnels.push_back(std::move(funnel));
}

std::span<const std::string_view> unit_names(const Node& value) {
  return value.find("unit") ? std::span(kUnitNames) : std::span<const std::string_view>();
}

// Returns the literal name of the resource, if it has one.
std::string full_name(Fields& entry) {
  const Node* const name = entry.node("name");
  const bool whole = name && name->scalar.find('/') != std::string::npos &&
                     name->scalar.find_first_of("{}*?[") == std::string::npos;
  return whole ? name->scalar : "";
}

std::unique_ptr<const DeviceSource> read_gpu_entry(Fields& entry) { return read_gpu(entry, Nvml::kLibrary); }

}  // namespace

std::unique_ptr<const DeviceSource> read_gpu(Fields& entry, const std::string& nvml) {
  Fields fields = entry.below("gpu");
  GpuTerms terms = read_gpu_terms(fields);
  terms.assume = read_assume(entry, terms);
  return std::make_unique<Gpu>(std::move(terms), full_name(entry), nvml);
}

Kind gpu_kind() {
  return {.attributes = kGpuAttributes, .read = read_gpu_entry, .of_allocation = unit_names};
}

}  // namespace plughost
