#include "kinds/gpu/other_gpus.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include "device/recipe.hpp"
#include "host/pci_function.hpp"
#include "host/sysfs.hpp"
#include "text/ascii.hpp"

namespace plughost {
namespace {

constexpr std::chrono::seconds kStateInterval{30};
constexpr std::string_view kIluvatarControl = "/dev/itrctl";

bool is_gpu(const PciFunction& function, const DrmVendor& vendor) {
  return function.vendor == vendor.id && std::ranges::any_of(vendor.classes, [&](std::string_view beginning) {
           return function.class_code.starts_with(beginning);
         });
}

// "umc_err_count: 2 uncorrectable memory errors"; empty: it has none, or its driver does not tell. What
// amdgpu shows in `ras` counts from the last reset.
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

// Why a card with a driver and nodes is of no use all the same; empty: it is.
std::string state_trouble(const HostRoot& host, const SysDevice& card) {
  // xe leaves a card that it could not start in this mode, for its firmware to be repaired.
  if (card.attribute("survivability_mode"))
    return "its driver could not start it (survivability mode); its firmware has to be repaired";
  return uncorrectable_errors(host, card);
}

Device drm_gpu(const HostRoot& host, const SysDevice& card, const PciFunction& function,
               const DrmVendor& vendor) {
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
    device.trouble = "no driver is bound to it";
    return device;
  }
  if (std::ranges::find(vendor.drivers, function.driver) == vendor.drivers.end()) {
    device.trouble = "its driver " + function.driver + " is none for GPUs";
    return device;
  }
  for (const SysDevice& child : card.below("drm")) {
    const auto node = child.node();
    if (!node) continue;
    if (device.nodes.empty()) device.add("path", *node);
    device.add_node(*node);
  }
  if (device.nodes.empty()) device.trouble = "its driver " + function.driver + " has made no device node";
  for (const std::string_view shared : vendor.shared_nodes) {
    const std::string path(shared);
    if (device.healthy() && !host.exists(path)) device.trouble = "there is no " + path;
    device.nodes.insert(device.nodes.begin(), {.host_path = path, .container_path = path});
  }
  if (device.healthy()) device.trouble = state_trouble(host, card);
  return device;
}

}  // namespace

const std::shared_ptr<const KindRecipe>& iluvatar_recipe() {
  static const auto recipe = [] {
    KindRecipe made;
    made.env.emplace_back(Template("IX_VISIBLE_DEVICES"), Template("{visible}"));
    return std::make_shared<const KindRecipe>(std::move(made));
  }();
  return recipe;
}

std::vector<Device> drm_gpus(const HostRoot& host, const DrmVendor& vendor, Scan& scan) {
  std::vector<Device> devices;
  for (const SysDevice& card : devices_of(host, "pci")) {
    const PciFunction function = pci_function(card);
    if (!is_gpu(function, vendor) || card.attribute("physfn") || function.driver.starts_with("vfio"))
      continue;
    devices.push_back(drm_gpu(host, card, function, vendor));
    // No event tells of its errors.
    if (!host.glob(card.path() + "/ras").paths.empty()) scan.look_again = kStateInterval;
  }
  return devices;
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
    const std::string control(kIluvatarControl);
    if (host.exists(control)) device.add_node(control);
    device.recipe = iluvatar_recipe();
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace plughost
