#include "host/hardware/vfio_groups.hpp"

#include <algorithm>
#include <string_view>

#include "base/text/ascii.hpp"
#include "host/hardware/sysfs.hpp"

namespace plughost {
namespace {

constexpr std::string_view kDirectory = "/dev/vfio/";

// PCI and CardBus bridges.
bool is_bridge(const SysDevice& device) {
  const std::string class_code = device.attribute("class").value_or("");
  return class_code.starts_with("0x0604") || class_code.starts_with("0x0607");
}

}  // namespace

bool is_vfio_driver(const std::string& driver) {
  return driver == "vfio-pci" || driver.ends_with("vfio_pci");
}

std::string VfioGroups::group_of(const std::string& node) const {
  if (!node.starts_with(kDirectory)) return {};
  std::string_view name = std::string_view(node).substr(kDirectory.size());
  if (name.starts_with("devices/")) {
    const auto device =
        SysDevice::at(host_, "/sys/class/vfio-dev/" + std::string(name.substr(name.find('/') + 1)));
    const auto function = device ? device->parent("pci") : std::nullopt;
    return function ? function->attribute("iommu_group").value_or("") : "";
  }
  if (name.starts_with("noiommu-")) name.remove_prefix(name.find('-') + 1);
  return std::ranges::all_of(name, is_digit) ? std::string(name) : "";
}

std::string VfioGroups::error_of(const std::string& group) {
  if (!foreign_) read();
  const auto found = foreign_->find(group);
  if (found == foreign_->end()) return {};
  return "IOMMU group " + group + " is not viable: " + found->second +
         "; bind each function of the group to vfio-pci, or to no driver";
}

void VfioGroups::read() {
  foreign_.emplace();
  for (const SysDevice& device : devices_of(host_, "pci")) {
    const std::string driver = device.driver();
    if (driver.empty() || driver == "pci-stub" || is_vfio_driver(driver) || is_bridge(device)) continue;
    const std::string group = device.attribute("iommu_group").value_or("");
    if (group.empty()) continue;
    std::string& functions = (*foreign_)[group];
    if (!functions.empty()) functions += ", ";
    functions += device.name() + " has the driver " + driver;
  }
}

}  // namespace plughost
