// `udev: {subsystem, name, properties, attributes, attributesOfParents, tags, links, permissions}`: any
// device of the kernel's device model.

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/text/text.hpp"
#include "host/hardware/device_nodes.hpp"
#include "host/hardware/sysfs.hpp"
#include "kinds/kind.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUdevAttributes[] = {"name",   "path",   "link",    "syspath", "devpath",
                                                "driver", "vendor", "product", "serial"};

using Patterns = std::vector<std::pair<std::string, std::string>>;  // by name; fnmatch(3)

struct Wanted {
  std::vector<std::string> subsystems;
  std::string name;
  Patterns properties;
  Patterns attributes;
  Patterns attributes_of_parents;
  std::vector<std::string> tags;
};

bool has_attributes(const SysDevice& device, const Patterns& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& item) {
    const std::optional<std::string> value = device.attribute(item.first);
    return value && matches(item.second, *value);
  });
}

// Returns the rule that leaves the device out; empty if the device is wanted. Checks the kernel's data first,
// so that only selected devices wait for udev.
std::string rule_against(const SysDevice& device, const Wanted& wanted, Scan& scan) {
  if (!matches(wanted.name, device.name())) return "`name: " + wanted.name + "` does not match";
  if (!has_attributes(device, wanted.attributes)) return "it does not have the `attributes`";
  // Like ATTRS in udev's rules: one device, this device or an ancestor, has all of the attributes.
  std::optional<SysDevice> above = device;
  while (above && !has_attributes(*above, wanted.attributes_of_parents)) above = above->parent();
  if (!above) return "no device above it has the `attributesOfParents`";
  if (waits_for_udev(device, scan)) return std::string(kWaitsForUdev);
  const auto& properties = device.properties();
  for (const auto& [name, pattern] : wanted.properties) {
    const auto found = properties.find(name);
    if (found == properties.end() || !matches(pattern, found->second))
      return "its property " + name + " is not " + pattern;
  }
  const std::vector<std::string>& tags = device.tags();
  const auto missing = std::ranges::find_if(
      wanted.tags, [&](const std::string& tag) { return !std::ranges::binary_search(tags, tag); });
  return missing == wanted.tags.end() ? "" : "it does not have the tag " + *missing;
}

// Returns true if the patterns select only by vendor.
bool means_a_vendor(const Wanted& wanted) {
  static constexpr std::string_view kOfAll[] = {
      "DEVTYPE",      "ID_VENDOR",    "ID_VENDOR_ENC", "ID_VENDOR_FROM_DATABASE",
      "ID_VENDOR_ID", "manufacturer", "idVendor",      "vendor"};
  const auto of_all = [](const Patterns& patterns) {
    return std::ranges::all_of(patterns, [](const auto& pattern) {
      return std::ranges::find(kOfAll, pattern.first) != std::end(kOfAll);
    });
  };
  return wanted.name == "*" && wanted.tags.empty() && of_all(wanted.properties) &&
         of_all(wanted.attributes) && of_all(wanted.attributes_of_parents);
}

std::string file_name(const std::string& path) { return fs::path(path).filename(); }

class Udev final : public DeviceSource {
 public:
  Udev(Wanted wanted, std::string permissions, bool links)
      : wanted_(std::move(wanted)), permissions_(std::move(permissions)), links_(links) {}

  Scan scan(const HostRoot& host) const override {
    Scan scan;
    scan.subsystems = wanted_.subsystems;
    std::vector<SysDevice> found;
    for (const std::string& subsystem : wanted_.subsystems) {
      Funnel funnel{.selector = "udev", .candidates = subsystem + " device"};
      for (SysDevice& device : devices_of(host, subsystem))
        if (funnel.pass(rule_against(device, wanted_, scan))) found.push_back(std::move(device));
      if (funnel.seen == 0) funnel.nothing = no_such_subsystem(host, subsystem);
      scan.funnels.push_back(std::move(funnel));
    }
    std::map<std::string, unsigned> with_link;
    for (const SysDevice& device : found)
      if (const auto link = link_by_id(device)) ++with_link[*link];
    const bool may_be_hubs =
        std::ranges::find(wanted_.subsystems, "usb") != wanted_.subsystems.end() && means_a_vendor(wanted_);
    for (const SysDevice& device : found) {
      const auto link = link_by_id(device);
      scan.devices.push_back(device_of(host, device, link && with_link[*link] > 1, scan));
      scan.devices.back().if_named = may_be_hubs && is_usb_hub(device);
    }
    return scan;
  }

 private:
  Device device_of(const HostRoot& host, const SysDevice& from, bool has_twin, Scan& scan) const {
    const std::optional<std::string> node = node_of(from, scan);
    // A link stays valid if ttyUSB0 becomes ttyUSB1 while the kubelet stores the response.
    const std::string link = lasting_link(host, from, has_twin).value_or("");
    const auto by_id = link_by_id(from), by_path = link_by_path(from);
    Device device;
    device.id = by_path ? file_name(*by_path) : from.name();
    if (by_id) {
      device.hardware.edit().ids.by_place = std::exchange(device.id, file_name(*by_id));
    }
    if (node)
      device.nodes.push_back({.host_path = link.empty() ? *node : link,
                              .container_path = Template::escape(*node),
                              .permissions = permissions_});
    record_number(link, from, scan);
    if (links_) {
      for (const std::string& each : from.links()) device.add_node(each, permissions_);
    }
    device.attributes = {{.name = "name", .value = from.name()},
                         {.name = "path", .value = node.value_or("")},
                         {.name = "link", .value = link},
                         {.name = "syspath", .value = from.path()},
                         {.name = "devpath", .value = from.path().substr(std::string_view("/sys").size())},
                         {.name = "driver", .value = from.driver()},
                         {.name = "vendor", .value = from.property("ID_VENDOR_ID")},
                         {.name = "product", .value = from.property("ID_MODEL_ID")},
                         {.name = "serial", .value = from.property("ID_SERIAL_SHORT")}};
    if (const auto numa = from.numa_node()) device.numa_nodes = {*numa};
    device.hardware.edit().units = {from.path()};
    if (from.subsystem() == "net")
      device.hardware.edit().in_namespace = {fs::path(from.path()).parent_path().string()};
    return device;
  }

  Wanted wanted_;
  std::string permissions_;
  bool links_;
};

Patterns read_patterns(Fields& fields, std::string_view key) {
  Patterns patterns;
  Fields items = fields.below(key);
  for (const auto& [name, value] : or_nothing(fields.node(key)).members) {
    // Allows only files below the device's directory, because the name becomes part of a path.
    if (name.scalar.starts_with('/') || name.scalar.find("..") != std::string::npos)
      fields.diagnostics().error(
          name.mark, fields.path_of(key) + '.' + name.scalar,
          "the name of an attribute is a file below the device's directory, as in idVendor");
    patterns.emplace_back(name.scalar, items.text(name.scalar, ""));
  }
  return patterns;
}

std::unique_ptr<const DeviceSource> read_udev(Fields& entry) {
  Fields fields = entry.below("udev");
  Wanted wanted;
  wanted.subsystems =
      read_subsystems(fields, "subsystem", "a subsystem is a name such as tty or video4linux");
  if (wanted.subsystems.empty())
    fields.error("subsystem",
                 "the subsystem is missing, as in subsystem: video4linux; udevadm info shows it");
  wanted.name = fields.text("name", "*");
  wanted.properties = read_patterns(fields, "properties");
  wanted.attributes = read_patterns(fields, "attributes");
  wanted.attributes_of_parents = read_patterns(fields, "attributesOfParents");
  wanted.tags = fields.texts("tags");
  std::string permissions = fields.permissions();
  const bool links = fields.flag("links", false);
  return std::make_unique<Udev>(std::move(wanted), std::move(permissions), links);
}

}  // namespace

Kind udev_kind() { return {.attributes = kUdevAttributes, .read = read_udev}; }

}  // namespace plughost
