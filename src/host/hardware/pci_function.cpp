#include "host/hardware/pci_function.hpp"

#include <algorithm>
#include <string_view>

#include "base/text/ascii.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Returns an id such as "15b3", which the kernel writes as "0x15b3".
std::string id_in(const SysDevice& device, std::string_view attribute) {
  const std::string text = device.attribute(attribute).value_or("");
  return text.starts_with("0x") ? text.substr(2) : text;
}

// Starts at the host bridge, because components above it, such as a platform, have no distance.
std::string path_from_host_bridge(const SysDevice& device) {
  const std::size_t bridge = device.path().find("/pci");
  return bridge == std::string::npos ? "" : device.path().substr(bridge + 1);
}

std::string number_of_virtual_functions(const SysDevice& device) {
  std::string number = device.attribute("sriov_numvfs").value_or("");
  return number == "0" ? "" : number;
}

// Returns the virtual function's number. The physical function has a link for each number.
std::string number_of(const std::string& address, const SysDevice& physical) {
  for (unsigned n = 0;; ++n) {
    const auto found = physical.attribute("virtfn" + std::to_string(n));
    if (!found) return {};
    if (*found == address) return std::to_string(n);
  }
}

// The kernel's drivers name ports p0, and p0s1 if split. Representors have names such as pf0vf1 and
// c1pf0sf88.
bool is_port(std::string_view name) {
  if (!name.starts_with('p')) return false;
  name.remove_prefix(1);
  const std::size_t split = name.find('s');
  return is_digits(name.substr(0, split)) && (split == name.npos || is_digits(name.substr(split + 1)));
}

bool one_of(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::ranges::find(words, word) != words.end();
}

constexpr std::string_view kDirectory = "/dev/vfio/";

// PCI and CardBus bridges.
bool is_bridge(const SysDevice& device) {
  const std::string class_code = device.attribute("class").value_or("");
  return class_code.starts_with("0x0604") || class_code.starts_with("0x0607");
}

}  // namespace

PciFunction pci_function(const SysDevice& device) {
  const std::string whole = device.attribute("physfn").value_or("");
  const auto physical = whole.empty() ? std::nullopt : device.linked("physfn");
  PciFunction function{.address = device.name(),
                       .vendor = id_in(device, "vendor"),
                       .device = id_in(device, "device"),
                       .class_code = id_in(device, "class"),
                       .driver = device.driver(),
                       .path = path_from_host_bridge(device),
                       .physical_function = whole,
                       .virtual_number = physical ? number_of(device.name(), *physical) : "",
                       .virtual_functions = number_of_virtual_functions(device)};
  if (function.is_network())
    function.physical_name = joined(own_interfaces(physical ? *physical : device), ",");
  return function;
}

std::vector<std::string> own_interfaces(const SysDevice& device) {
  std::vector<std::string> names = device.names_in("net");
  std::erase_if(names, [&](const std::string& name) {
    const std::string port = device.attribute("net/" + name + "/phys_port_name").value_or("");
    return !port.empty() && !is_port(port);
  });
  return names;
}

std::string PciSelectors::rule_against(const PciFunction& function) const {
  const bool of_class = classes.empty() || std::ranges::any_of(classes, [&](const std::string& beginning) {
                          return function.class_code.starts_with(beginning);
                        });
  if (!one_of(vendors, function.vendor)) return "its vendor is not " + joined(vendors, " or ");
  if (!one_of(devices, function.device)) return "its device id is not " + joined(devices, " or ");
  if (!of_class) return "its class is not " + joined(classes, " or ");
  if (!one_of(drivers, function.driver)) return "its driver is not " + joined(drivers, " or ");
  return {};
}

std::vector<Attribute> attributes_of(const PciFunction& function) {
  std::vector<Attribute> attributes = {{.name = "pci", .value = function.address},
                                       {.name = "vendor", .value = function.vendor},
                                       {.name = "device", .value = function.device},
                                       {.name = "class", .value = function.class_code},
                                       {.name = "driver", .value = function.driver},
                                       {.name = "pciPath", .value = function.path},
                                       {.name = "physfn", .value = function.physical_function},
                                       {.name = "vf", .value = function.virtual_number},
                                       {.name = "vfs", .value = function.virtual_functions},
                                       {.name = "pfName", .value = function.physical_name}};
  std::erase_if(attributes, [](const Attribute& attribute) { return attribute.value.empty(); });
  return attributes;
}

std::string pci_info(const std::string& address, const std::string& section,
                     const std::map<std::string, std::string>& facts) {
  Json info;
  info["generic"]["deviceID"] = address;
  if (!facts.empty()) info[section] = facts;
  return json_string(address) + ':' + info.dump();
}

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
