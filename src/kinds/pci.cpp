// `pci: {vendors, devices, classes, drivers, nodes, permissions}`: PCI cards without a kind of their own,
// with the device nodes that their drivers create.

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"
#include "host/hardware/pci_function.hpp"
#include "kinds/kind.hpp"

namespace plughost {
namespace {

constexpr std::string_view kPciAttributes[] = {"pci",        "name",   "path", "vendor",  "device",
                                               "class",      "driver", "numa", "pciInfo", "pciPath",
                                               "iommuGroup", "physfn", "vf",   "vfs",     "pfName"};
constexpr std::string_view kVfioContainer = "/dev/vfio/vfio";
constexpr std::size_t kClassDigits[] = {2, 4, 6};
// Subsystems that are watched before a card has a node in them. A subsystem of a single driver is not needed,
// because the driver creates its nodes before the event of its binding.
constexpr std::string_view kSubsystems[] = {
    "accel", "drm", "infiniband_mad", "infiniband_verbs", "misc", "pci", "tty", "vfio"};

bool is_literal(const std::string& pattern) { return pattern.find_first_of("*?[\\") == std::string::npos; }

// A device node of a card with its name in the kernel.
struct Found {
  std::string name;
  std::string path;
};

// Returns the device of an IOMMU group, whose name has a prefix if there is no IOMMU.
std::optional<SysDevice> vfio_group(const HostRoot& host, const std::string& group) {
  const std::string home = "/sys/class/vfio/";
  const auto with_iommu = SysDevice::at(host, home + group);
  return with_iommu ? with_iommu : SysDevice::at(host, home + "noiommu-" + group);
}

bool is_bridge(const PciFunction& card) { return card.class_code.starts_with("06"); }

// Returns true for bridges, and for physical functions with virtual functions.
bool others_hang_from(const PciFunction& card) { return is_bridge(card) || !card.virtual_functions.empty(); }

// One card of an entry.
struct Card {
  PciFunction function;
  std::string place;  // in the kernel's device tree
  std::vector<Found> nodes;
  std::optional<int> numa_node;
  std::string group;  // of a card with a VFIO driver; empty: none
  std::string error;
};

// Adds the group's node, which precedes the nodes of the driver.
void add_group(const HostRoot& host, const SysDevice& device, Card& card, Scan& scan) {
  card.group = device.attribute("iommu_group").value_or("");
  const auto group = card.group.empty() ? std::nullopt : vfio_group(host, card.group);
  const auto node = group ? node_of(*group, scan) : std::nullopt;
  if (node) {
    card.nodes.push_back({.name = group->name(), .path = *node});
    card.nodes.push_back({.name = "vfio", .path = std::string(kVfioContainer)});
  } else if (card.group.empty()) {
    card.error = "it is in no IOMMU group; is the IOMMU on in the firmware and for the kernel?";
  } else {
    card.error = "its IOMMU group " + card.group + " has no node in /dev/vfio";
  }
}

Device device_of(const Card& card, const std::string& permissions) {
  Device device;
  device.id = card.function.address;
  device.error = card.error;
  device.attributes = attributes_of(card.function);
  device.add_numa_node(card.numa_node);
  if (!card.nodes.empty()) {
    device.add("name", card.nodes.front().name);
    device.add("path", card.nodes.front().path);
  }
  device.add("iommuGroup", card.group);
  std::map<std::string, std::string> facts;
  if (!card.group.empty() && !card.nodes.empty())
    facts = {{"dev-mount", card.nodes.front().path}, {"mount", std::string(kVfioContainer)}};
  device.add("pciInfo", pci_info(card.function.address, "vfio", facts));
  for (const Found& node : card.nodes) device.add_node(node.path, permissions);
  device.hardware.edit().units = {card.place};
  if (!card.group.empty()) device.hardware.edit().units.push_back(std::string(kIommuGroup) + card.group);
  return device;
}

class Pci final : public DeviceSource {
 public:
  // `nodes` has fnmatch(3) patterns for the subsystems of device nodes; empty means all subsystems.
  Pci(PciSelectors wanted, std::vector<std::string> nodes, std::string permissions)
      : wanted_(std::move(wanted)), nodes_(std::move(nodes)), permissions_(std::move(permissions)) {}

  Scan scan(const HostRoot& host) const override;
  void finish(Scan& taken, const AllocationSpec& spec) const override;

 private:
  Card look_at(const HostRoot& host, const SysDevice& device, PciFunction function, Scan& scan) const;
  bool takes_nodes_of(const std::string& subsystem) const;
  // Returns true if the entry selects the card itself, rather than all cards of its vendor, driver or class.
  bool names(const PciFunction& card) const {
    return !wanted_.devices.empty() || (is_bridge(card) && !wanted_.classes.empty());
  }
  void add_nodes_below(const SysDevice& device, Card& card, Scan& scan) const;

  PciSelectors wanted_;
  std::vector<std::string> nodes_;
  std::string permissions_;
};

bool Pci::takes_nodes_of(const std::string& subsystem) const {
  return nodes_.empty() ||
         std::ranges::any_of(nodes_, [&](const std::string& pattern) { return matches(pattern, subsystem); });
}

void Pci::add_nodes_below(const SysDevice& device, Card& card, Scan& scan) const {
  for (const SysDevice& child : device.below("")) {
    const std::string subsystem = child.subsystem();
    const std::optional<std::string> node = takes_nodes_of(subsystem) ? node_of(child, scan) : std::nullopt;
    if (!node) continue;
    card.nodes.push_back({.name = child.name(), .path = *node});
    scan.subsystems.push_back(subsystem);
  }
}

Card Pci::look_at(const HostRoot& host, const SysDevice& device, PciFunction function, Scan& scan) const {
  Card card{.function = std::move(function), .place = device.path(), .numa_node = device.numa_node()};
  const std::string& driver = card.function.driver;
  if (is_vfio_driver(driver) && takes_nodes_of("vfio")) add_group(host, device, card, scan);
  add_nodes_below(device, card, scan);
  if (driver.empty())
    card.error = "no driver is bound to it";
  else if (card.nodes.empty() && card.error.empty())
    card.error = "its driver " + driver + " has made no device node" +
                 (nodes_.empty() ? "" : " of the subsystems in `nodes`");
  return card;
}

Scan Pci::scan(const HostRoot& host) const {
  Scan scan;
  scan.subsystems = {std::begin(kSubsystems), std::end(kSubsystems)};
  std::ranges::copy_if(nodes_, std::back_inserter(scan.subsystems), is_literal);
  Funnel funnel{.selector = "pci", .candidates = "PCI function"};
  std::vector<Card> cards;
  for (const SysDevice& device : devices_of(host, "pci")) {
    PciFunction function = pci_function(device);
    if (!funnel.pass(wanted_.rule_against(function))) continue;
    // The attribute pfName is the name of an interface, which udev may change.
    if (function.is_network() && !function.physical_function.empty()) scan.subsystems.emplace_back("net");
    cards.push_back(look_at(host, device, std::move(function), scan));
  }
  scan.funnels = {std::move(funnel)};
  sort_unique(scan.subsystems);
  for (const Card& card : cards) {
    scan.devices.push_back(device_of(card, permissions_));
    scan.devices.back().if_named = others_hang_from(card.function) && !names(card.function);
  }
  return scan;
}

// Adds remarks on cards of one IOMMU group, and on cards listed with their virtual functions.
void Pci::finish(Scan& taken, const AllocationSpec& /*spec*/) const {
  std::map<std::string, std::string> first_in;
  std::set<std::string> partitioned;
  for (const Device& card : taken.devices) {
    if (const std::string* const whole = card.attribute("physfn")) partitioned.insert(*whole);
    const std::string* const group = card.attribute("iommuGroup");
    if (!group) continue;
    const auto [first, is_new] = first_in.try_emplace(*group, card.id);
    if (!is_new)
      taken.remarks.push_back(
          card.id + " and " + first->second + " are in one IOMMU group, " + *group +
          ", which one container can use at a time: while one has a card of it, the others are Unhealthy");
  }
  for (const Device& card : taken.devices) {
    if (partitioned.contains(card.id))
      taken.remarks.push_back(card.id +
                              " is listed together with virtual functions of its own: a container that gets "
                              "it can disturb theirs; leave one or the other out with `except`");
  }
}

std::vector<std::string> read_classes(Fields& fields) {
  std::vector<std::string> classes;
  for (const std::string& text : fields.texts("classes")) {
    const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
    const std::size_t digits = text.size() - (prefixed ? 2 : 0);
    const auto beginning = hex_digits(text, digits);
    if (beginning && std::ranges::find(kClassDigits, digits) != std::end(kClassDigits))
      classes.push_back(*beginning);
    else
      fields.error("classes", quote(text) +
                                  " is no PCI class; it has 2, 4 or 6 hexadecimal digits, as in 03 for "
                                  "displays or 0302 for 3D controllers");
  }
  return classes;
}

std::unique_ptr<const DeviceSource> read_pci(Fields& entry) {
  Fields fields = entry.below("pci");
  const std::size_t errors = entry.diagnostics().error_count();
  PciSelectors wanted;
  wanted.vendors = read_hex_ids(fields, "vendors");
  wanted.devices = read_hex_ids(fields, "devices");
  wanted.classes = read_classes(fields);
  wanted.drivers = fields.texts("drivers");
  const bool any_card =
      wanted.vendors.empty() && wanted.devices.empty() && wanted.classes.empty() && wanted.drivers.empty();
  if (any_card && entry.diagnostics().error_count() == errors)
    fields.error("vendors",
                 "select the cards by vendors, devices, classes or drivers, as lspci -nnk prints them");
  std::vector<std::string> nodes =
      read_subsystems(fields, "nodes", "nodes are subsystems of the kernel, as in [drm, \"infiniband*\"]");
  std::string permissions = fields.permissions();
  return std::make_unique<Pci>(std::move(wanted), std::move(nodes), std::move(permissions));
}

}  // namespace

Kind pci_kind() { return {.attributes = kPciAttributes, .read = read_pci}; }

}  // namespace plughost
