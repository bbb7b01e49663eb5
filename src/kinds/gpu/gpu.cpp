// `gpu: {vendor, deviceListStrategy, mig, unit, …}`: cards of NVIDIA, AMD, Intel and Iluvatar.

#include "kinds/gpu/gpu.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/ascii.hpp"
#include "host/hardware/pci_function.hpp"
#include "host/hardware/sysfs.hpp"
#include "kinds/gpu/nvidia_cdi.hpp"
#include "kinds/gpu/nvidia_gpu.hpp"
#include "kinds/gpu/terms.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

// A vendor whose cards have their nodes in the subsystem drm.
struct DrmVendor {
  std::string_view name;                       // "amd"
  std::string_view id;                         // "1002"
  std::vector<std::string_view> classes;       // prefixes of PCI class codes
  std::vector<std::string_view> drivers;       // the drivers of its GPUs
  std::vector<std::string_view> shared_nodes;  // nodes that all of its cards need
};

constexpr std::chrono::seconds kStateInterval{30};
constexpr std::string_view kIluvatarControl = "/dev/itrctl";

bool is_gpu(const PciFunction& function, const DrmVendor& vendor) {
  return function.vendor == vendor.id && std::ranges::any_of(vendor.classes, [&](std::string_view beginning) {
           return function.class_code.starts_with(beginning);
         });
}

// Returns "its memory had 2 uncorrectable errors since the last reset (umc_err_count); it needs a reset";
// empty if there are none, or if their number is unknown. amdgpu's counters in `ras` begin at the last reset.
std::string uncorrectable_errors(const HostRoot& host, const SysDevice& card) {
  for (const std::string& path : host.glob(card.path() + "/ras/*_err_count").paths) {
    std::istringstream text(host.text(path).value_or(""));
    unsigned long long errors = 0;
    for (std::string word; text >> word;) {
      if (word == "ue:" && text >> errors && errors > 0)
        return "its memory had " + std::to_string(errors) + " uncorrectable errors since the last reset (" +
               std::filesystem::path(path).filename().string() + "); it needs a reset";
    }
  }
  return {};
}

// Returns why a card with a driver and nodes cannot be used; empty if it can.
std::string state_error(const HostRoot& host, const SysDevice& card) {
  // xe keeps a card that it could not initialise in this mode, for a repair of its firmware.
  if (card.attribute("survivability_mode"))
    return "its driver could not start it (survivability mode); its firmware has to be repaired";
  return uncorrectable_errors(host, card);
}

Device drm_gpu(const HostRoot& host, const SysDevice& card, const PciFunction& function,
               const DrmVendor& vendor, Scan& scan) {
  Device device;
  device.id = function.address;
  device.hardware.edit().units = {card.path()};
  device.add("vendor", std::string(vendor.name));
  device.add("pci", function.address);
  device.add("device", function.device);
  device.add("pciPath", function.path);
  device.add("driver", function.driver);
  device.add("type", "gpu");
  device.add_numa_node(card.numa_node());
  if (function.driver.empty()) {
    device.error = "no driver is bound to it";
    return device;
  }
  if (std::ranges::find(vendor.drivers, function.driver) == vendor.drivers.end()) {
    device.error = "its driver " + function.driver + " is none for GPUs";
    return device;
  }
  for (const SysDevice& child : card.below("drm")) {
    const auto node = node_of(child, scan);
    if (!node) continue;
    if (device.nodes.empty()) device.add("path", *node);
    device.add_node(*node);
  }
  if (device.nodes.empty()) device.error = "its driver " + function.driver + " has made no device node";
  for (const std::string_view shared : vendor.shared_nodes) {
    const std::string path(shared);
    device.nodes.insert(device.nodes.begin(), {.host_path = path, .container_path = path});
  }
  if (device.healthy()) device.error = state_error(host, card);
  return device;
}

// Returns what Iluvatar's cards add to a container.
const std::shared_ptr<const KindSpec>& iluvatar_spec() {
  static const auto spec = [] {
    KindSpec made;
    made.env.emplace_back(Template("IX_VISIBLE_DEVICES"), Template("{visible}"));
    return std::make_shared<const KindSpec>(std::move(made));
  }();
  return spec;
}

// Returns all cards of the vendor in these classes, without virtual functions and cards for virtual machines.
// A card is Unhealthy without a driver, with another driver, without a node, or if the driver reports that it
// needs a reset.
std::vector<Device> drm_gpus(const HostRoot& host, const DrmVendor& vendor, Scan& scan) {
  std::vector<Device> devices;
  for (const SysDevice& card : devices_of(host, "pci")) {
    const PciFunction function = pci_function(card);
    if (!is_gpu(function, vendor) || card.attribute("physfn") || function.driver.starts_with("vfio"))
      continue;
    devices.push_back(drm_gpu(host, card, function, vendor, scan));
    // No event reports the card's errors.
    if (!host.glob(card.path() + "/ras").paths.empty()) scan.rescan_after = kStateInterval;
  }
  return devices;
}

// Finds the cards by their nodes. Within a container, cards are numbered from 0.
std::vector<Device> iluvatar_gpus(const HostRoot& host, Scan& scan) {
  HostRoot::Match found = host.glob("/dev/iluvatar[0-9]*");
  std::ranges::move(found.watch, std::back_inserter(scan.watch));
  constexpr std::string_view kBeginning = "/dev/iluvatar";
  std::vector<Device> devices;
  for (const std::string& path : found.paths) {
    const std::string minor = path.substr(kBeginning.size());
    if (!is_digits(minor)) continue;
    Device device;
    device.id = "iluvatar" + minor;
    device.attributes = {{.name = "vendor", .value = "iluvatar"}, {.name = "index", .value = minor},
                         {.name = "minor", .value = minor},       {.name = "path", .value = path},
                         {.name = "type", .value = "gpu"},        {.name = "visible", .value = minor}};
    device.nodes.push_back({.host_path = path, .container_path = "/dev/iluvatar{n}"});
    const std::string control(kIluvatarControl);
    if (host.exists(control)) device.add_node(control);
    device.spec = iluvatar_spec();
    devices.push_back(std::move(device));
  }
  return devices;
}

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
  Gpu(GpuTerms terms, std::string name, const std::string& nvml, NvidiaGpus::Now now)
      : terms_(std::move(terms)),
        name_(std::move(name)),
        spec_(nvidia_spec(terms_.injection)),
        cdi_(terms_.nvidia_ctk, terms_.driver_root, terms_.injection.by_index, now),
        nvidia_(terms_.nvidia, nvml, std::move(now)) {}

  Scan scan(const HostRoot& host) const override;
  void finish(Scan& taken, const AllocationSpec& spec) const override;
  std::optional<SharesOf> units() const override {
    if (terms_.unit.whole()) return std::nullopt;
    // With `assume`, the scheduler chooses the card, and ids of any card are accepted.
    return terms_.span_cards || terms_.assume ? SharesOf::kAny : SharesOf::kOneDevice;
  }
  std::optional<AssumeTerms> assume() const override { return terms_.assume; }
  std::vector<std::shared_ptr<const KindSpec>> specs() const override;
  void forgive(const Device& device) const override {
    if (const std::string* const uuid = device.attribute("uuid")) nvidia_.forgive(*uuid);
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
  if (wants(GpuVendor::kAmd))
    add(drm_gpus(host,
                 {.name = "amd",
                  .id = "1002",
                  .classes = {"0300", "0302", "0380", "1200"},
                  .drivers = {"amdgpu"},
                  .shared_nodes = {"/dev/kfd"}},
                 scan));
  if (wants(GpuVendor::kIntel))  // without its processing accelerators (1200), which are NPUs
    add(drm_gpus(
        host, {.name = "intel", .id = "8086", .classes = {"0300", "0302", "0380"}, .drivers = {"i915", "xe"}},
        scan));
  if (wants(GpuVendor::kIluvatar)) add(iluvatar_gpus(host, scan));
  if (wants(GpuVendor::kNvidia)) add_nvidia(host, scan);  // last, because it needs the shortest scan interval
  return scan;
}

void Gpu::finish(Scan& taken, const AllocationSpec& spec) const {
  const NvidiaGpus::Session alone = nvidia_.open_session();
  nvidia_.check_mig(taken);
  const auto is_nvidia = [](const Device& device) {
    const std::string* const vendor = device.attribute("vendor");
    return vendor && *vendor == "nvidia";
  };
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
  const std::string& root = terms_.driver_root;
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
  const auto host_path = [&](const std::string& node) { return node_below(host, terms_.driver_root, node); };
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
  for (Device& device : scan.devices) device.replicas = static_cast<unsigned>(units_of(device, unit));
  std::erase_if(scan.devices, [&](const Device& device) {
    if (device.replicas > 0) return false;
    scan.remarks.push_back(device.id + " is left out: the size of its memory is unknown, or below one unit");
    return true;
  });
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

std::unique_ptr<const DeviceSource> read_gpu_entry(Fields& entry) {
  return read_gpu(entry, Nvml::kLibrary, std::chrono::steady_clock::now);
}

}  // namespace

std::unique_ptr<const DeviceSource> read_gpu(Fields& entry, const std::string& nvml, NvidiaGpus::Now now) {
  const Node* const node = entry.node("gpu");
  if (!node) return nullptr;
  Fields fields(*node, entry.path_of("gpu"), entry.diagnostics());
  GpuTerms terms = read_gpu_terms(fields);
  terms.assume = read_assume(entry, terms);
  return std::make_unique<Gpu>(std::move(terms), full_name(entry), nvml, std::move(now));
}

Kind gpu_kind() {
  return {.attributes = kGpuAttributes, .read = read_gpu_entry, .of_allocation = unit_names};
}

}  // namespace plughost
