#include "kinds/gpu/other_gpus.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text/ascii.hpp"
#include "host/hardware/pci_function.hpp"
#include "host/hardware/sysfs.hpp"

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
constexpr const char* kIluvatarControl = "/dev/itrctl";

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

// Returns all cards of the vendor in these classes, without virtual functions and cards for virtual machines.
// A card is Unhealthy without a driver, with another driver, without a node, or if the driver reports that it
// needs a reset.
std::vector<Device> drm_gpus(const HostRoot& host, const DrmVendor& vendor, Scan& scan) {
  std::vector<Device> devices;
  Funnel funnel{.selector = "gpu", .candidates = std::string(vendor.name) + " GPU"};
  for (const SysDevice& card : devices_of(host, "pci")) {
    const PciFunction function = pci_function(card);
    if (!is_gpu(function, vendor)) continue;
    const bool for_machines = card.attribute("physfn") || function.driver.starts_with("vfio");
    if (!funnel.pass(for_machines ? "it is a virtual function, or its driver is for virtual machines" : ""))
      continue;
    devices.push_back(drm_gpu(host, card, function, vendor, scan));
    // No event reports the card's errors.
    if (!host.glob(card.path() + "/ras").paths.empty()) scan.rescan_after = kStateInterval;
  }
  scan.funnels.push_back(std::move(funnel));
  return devices;
}

}  // namespace

std::vector<Device> amd_gpus(const HostRoot& host, Scan& scan) {
  return drm_gpus(host,
                  {.name = "amd",
                   .id = "1002",
                   .classes = {"0300", "0302", "0380", "1200"},
                   .drivers = {"amdgpu"},
                   .shared_nodes = {"/dev/kfd"}},
                  scan);
}

std::vector<Device> intel_gpus(const HostRoot& host, Scan& scan) {
  return drm_gpus(
      host, {.name = "intel", .id = "8086", .classes = {"0300", "0302", "0380"}, .drivers = {"i915", "xe"}},
      scan);
}

const std::shared_ptr<const KindSpec>& iluvatar_spec() {
  static const auto spec = [] {
    KindSpec made;
    made.env.emplace_back(Template("IX_VISIBLE_DEVICES"), Template("{visible}"));
    return std::make_shared<const KindSpec>(std::move(made));
  }();
  return spec;
}

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
    if (host.exists(kIluvatarControl)) device.add_node(kIluvatarControl);
    device.spec = iluvatar_spec();
    devices.push_back(std::move(device));
  }
  scan.funnels.push_back({.selector = "gpu",
                          .candidates = "iluvatar GPU",
                          .seen = devices.size(),
                          .nothing = "nothing matches /dev/iluvatar[0-9]*"});
  return devices;
}

}  // namespace plughost
