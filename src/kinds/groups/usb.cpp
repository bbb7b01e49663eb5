// USB devices of a group: `{vendor, product, serial, port, anyOf, nodes, mountPath, permissions, optional,
// limit}`.

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"
#include "host/hardware/device_nodes.hpp"
#include "host/hardware/sysfs.hpp"
#include "kinds/groups/groups.hpp"

namespace plughost {
namespace {

constexpr const char* kBus = "usb";

// A device's identity; in the configuration, an empty member matches any value.
struct Identity {
  std::string vendor;
  std::string product;
  std::string serial;  // empty: the device has no serial number
  std::string port;    // "1-2.4": bus 1, port 2 of the root hub, port 4 of the hub there

  struct Member {
    std::string_view name;
    std::string Identity::*value;
  };
  static constexpr std::size_t kMembers = 4;
  static const Member members[kMembers];

  // Returns the first member that differs; nullptr if the identity fits.
  const Member* difference(const Identity& found) const {
    const auto differs = [&](const Member& member) {
      const std::string& wanted = this->*member.value;
      return !wanted.empty() && wanted != found.*member.value;
    };
    const Member* const member = std::ranges::find_if(members, differs);
    return member == std::end(members) ? nullptr : member;
  }
  bool fits(const Identity& found) const { return difference(found) == nullptr; }
  // Returns "10c4:ea60", or such as "vendor 10c4, port 1-2".
  std::string text() const;
  // Returns true if the identity selects a product or a device, rather than all devices of a vendor.
  bool names_one() const { return !product.empty() || !serial.empty() || !port.empty(); }
};

const Identity::Member Identity::members[] = {{"vendor", &Identity::vendor},
                                              {"product", &Identity::product},
                                              {"serial", &Identity::serial},
                                              {"port", &Identity::port}};

std::string Identity::text() const {
  std::vector<std::string> parts;
  const bool both = !vendor.empty() && !product.empty();
  if (both) parts.push_back(vendor + ':' + product);
  for (const Member& member : std::span(members).subspan(both ? 2 : 0))
    if (!(this->*member.value).empty()) parts.push_back(std::string(member.name) + ' ' + this->*member.value);
  return joined(parts, ", ");
}

struct Plugged : Identity {
  SysDevice device;

  // Duplicates have the same name.
  std::string name() const { return vendor + ':' + product + ':' + serial; }
};

Identity read_wanted(Fields& fields) {
  return {.vendor = read_hex_id(fields, "vendor"),
          .product = read_hex_id(fields, "product"),
          .serial = fields.text("serial", ""),
          .port = fields.text("port", "")};
}

bool is_said(Fields& fields) {
  return fields.has("vendor") || fields.has("product") || fields.has("serial") || fields.has("port");
}

class UsbPart final : public GroupPart {
 public:
  explicit UsbPart(Fields& fields);
  std::vector<Device> find(const HostRoot& host, Scan& scan) const override;

 private:
  // Returns the matching devices that udev has processed, including their nodes.
  std::vector<Plugged> matches(const HostRoot& host, Scan& scan) const;
  Device piece(const HostRoot& host, const Plugged& plugged, bool has_duplicate, Scan& scan) const;
  void add_nodes(const HostRoot& host, const Plugged& plugged, bool has_duplicate, Device& piece,
                 Scan& scan) const;
  // Returns the rule that leaves the device out; empty if the device has the wanted identity.
  std::string rule_against(const Plugged& plugged) const;
  // Returns why none of the plugged devices has the wanted identity, with the one that comes nearest.
  std::string none_fits(const std::vector<Plugged>& others) const;
  bool names(const Plugged& plugged) const;
  bool may_change() const { return !any_of_.empty(); }

  Identity wanted_;
  std::vector<Identity>
      any_of_;  // the identities that the same hardware may have; empty: its identity never changes
  std::vector<std::string> nodes_;  // subsystems; kBus: the device's own node on the bus
  Template mount_path_;
  std::string permissions_;
};

UsbPart::UsbPart(Fields& fields) {
  wanted_ = read_wanted(fields);
  const std::vector<Node>& items = fields.items("anyOf");
  for (std::size_t i = 0; i < items.size(); ++i) {
    Fields item(items[i], fields.path_of("anyOf") + '[' + std::to_string(i) + ']', fields.diagnostics());
    any_of_.push_back(read_wanted(item));
    if (!is_said(item))
      item.error("vendor", "select the device by vendor and product as lsusb prints them, serial or port");
  }
  if (fields.has("anyOf") && items.empty())
    fields.error(
        "anyOf",
        "a list of what the device may be is expected, as in [{vendor: \"1a6e\"}, {vendor: \"18d1\"}]");
  if (!is_said(fields) && !fields.has("anyOf")) {
    fields.error("vendor",
                 "select the USB device by vendor and product as lsusb prints them, serial or port, as "
                 "in {vendor: \"1a86\", product: \"7523\"}");
  }
  nodes_ = read_subsystems(
      fields, "nodes", "nodes are subsystems of the kernel, as in [tty, hidraw]; usb is the node on the bus");
  if (nodes_.empty()) nodes_ = {kBus};
  mount_path_ = read_mount_path(fields);
  permissions_ = fields.permissions();
  read_terms(fields, *this);
}

std::string UsbPart::rule_against(const Plugged& plugged) const {
  if (const auto* const member = wanted_.difference(plugged))
    return "its " + std::string(member->name) + " is not " + wanted_.*member->value;
  const auto fit = [&](const Identity& wanted) { return wanted.fits(plugged); };
  return any_of_.empty() || std::ranges::any_of(any_of_, fit) ? "" : "it is none of `anyOf`";
}

std::string UsbPart::none_fits(const std::vector<Plugged>& others) const {
  std::vector<std::string> wanted;
  if (any_of_.empty()) wanted.push_back(wanted_.text());
  for (const Identity& each : any_of_) wanted.push_back(each.text());
  std::string text = counted(others.size(), "USB device") + ", none is " + joined(wanted, " or ");
  const auto same_vendor = std::ranges::find_if(others, [&](const Plugged& each) {
    const auto has_its = [&](const Identity& one) {
      return !one.vendor.empty() && one.vendor == each.vendor;
    };
    return has_its(wanted_) || std::ranges::any_of(any_of_, has_its);
  });
  if (same_vendor != others.end())
    text += "; the nearest is " + same_vendor->vendor + ':' + same_vendor->product + " at port " +
            same_vendor->port + (same_vendor->serial.empty() ? "" : ", serial " + same_vendor->serial);
  return text;
}

bool UsbPart::names(const Plugged& plugged) const {
  return wanted_.names_one() || std::ranges::any_of(any_of_, [&](const Identity& wanted) {
           return wanted.names_one() && wanted.fits(plugged);
         });
}

std::vector<Plugged> UsbPart::matches(const HostRoot& host, Scan& scan) const {
  const auto waits = [&scan](const SysDevice& device) { return waits_for_udev(device, scan); };
  Funnel funnel{.selector = selector, .candidates = "USB device", .optional = optional};
  std::vector<Plugged> found;
  std::vector<Plugged> others;
  std::vector<std::string> not_named;
  for (SysDevice& device : devices_of(host, kBus)) {
    const std::optional<std::string> vendor = device.attribute("idVendor");
    if (!vendor) continue;  // an interface of a device
    Plugged plugged{{.vendor = *vendor,
                     .product = device.attribute("idProduct").value_or(""),
                     .serial = device.attribute("serial").value_or(""),
                     .port = device.name()},
                    device};
    std::string rule = rule_against(plugged);
    const bool fits = rule.empty();
    if (fits && waits(plugged.device)) {
      rule = kWaitsForUdev;
    } else if (fits && is_usb_hub(device) && !names(plugged)) {
      rule = "it is a hub, and the entry names only the vendor";
      if (std::ranges::find(nodes_, kBus) != nodes_.end()) not_named.push_back(plugged.port);
    }
    const auto node_waits = [&](const std::string& subsystem) {
      return subsystem != kBus && std::ranges::any_of(device.below(subsystem), waits);
    };
    if (rule.empty() && std::ranges::any_of(nodes_, node_waits)) rule = kWaitsForUdev;
    if (funnel.pass(rule))
      found.push_back(std::move(plugged));
    else if (!fits)
      others.push_back(std::move(plugged));
  }
  if (funnel.seen > 0 && others.size() == funnel.seen) funnel.nothing = none_fits(others);
  scan.funnels.push_back(std::move(funnel));
  if (!not_named.empty()) scan.remarks.push_back(not_named_text(not_named));
  return found;
}

std::vector<Device> UsbPart::find(const HostRoot& host, Scan& scan) const {
  scan.subsystems.emplace_back(kBus);
  scan.subsystems.insert(scan.subsystems.end(), nodes_.begin(), nodes_.end());
  const std::vector<Plugged> all = matches(host, scan);
  std::map<std::string, unsigned> with_name;
  for (const Plugged& plugged : all) ++with_name[plugged.name()];
  std::vector<Device> pieces;
  for (const Plugged& plugged : all)
    pieces.push_back(piece(host, plugged, with_name[plugged.name()] > 1, scan));
  return pieces;
}

Device UsbPart::piece(const HostRoot& host, const Plugged& plugged, bool has_duplicate, Scan& scan) const {
  Device piece;
  piece.id = "usb-" + plugged.port;
  if (!plugged.serial.empty() && !may_change()) {
    Hardware& hardware = piece.hardware.edit();
    hardware.at_place = {{.name = "name", .value = piece.id},
                         {.name = "plainName", .value = plain_name(piece.id)}};
    hardware.ids.by_place = std::exchange(piece.id, plugged.name());
  }
  add_nodes(host, plugged, has_duplicate || may_change(), piece, scan);
  const std::string path = piece.nodes.empty() ? "" : piece.nodes.front().host_path;
  piece.attributes = {{.name = "name", .value = piece.id},
                      {.name = "plainName", .value = plain_name(piece.id)},
                      {.name = "path", .value = path},
                      {.name = "target", .value = path},
                      {.name = "vendor", .value = plugged.vendor},
                      {.name = "product", .value = plugged.product},
                      {.name = "serial", .value = plugged.serial},
                      {.name = "port", .value = plugged.port}};
  if (const auto numa = plugged.device.numa_node()) piece.numa_nodes = {*numa};
  piece.hardware.edit().units = {plugged.device.path()};
  return piece;
}

void UsbPart::add_nodes(const HostRoot& host, const Plugged& plugged, bool has_duplicate, Device& piece,
                        Scan& scan) const {
  for (const std::string& subsystem : nodes_) {
    std::vector<SysDevice> devices;
    if (subsystem == kBus)
      devices.push_back(plugged.device);
    else
      devices = plugged.device.below(subsystem);
    const std::size_t before = piece.nodes.size();
    for (const SysDevice& device : devices) {
      const std::optional<std::string> node = node_of(device, scan);
      if (!node) continue;
      // A link stays valid if ttyUSB0 becomes ttyUSB1 while the kubelet stores the response.
      std::optional<std::string> link;
      if (subsystem != kBus) link = lasting_link(host, device, has_duplicate);
      record_number(link.value_or(""), device, scan);
      piece.nodes.push_back({.host_path = link.value_or(*node),
                             .container_path = place(mount_path_, device.name(), *node),
                             .permissions = permissions_});
    }
    if (piece.nodes.size() == before && piece.error.empty()) {
      piece.error = "the USB device at port " + plugged.port + " has no " + subsystem +
                    " node: is its driver loaded, and has it been given to another one?";
    }
  }
}

}  // namespace

std::unique_ptr<GroupPart> read_usb_part(Fields& fields) { return std::make_unique<UsbPart>(fields); }

}  // namespace plughost
