// USB devices of a group: `{vendor, product, serial, port, nodes, mountPath, permissions, optional, limit}`.

#include <algorithm>
#include <map>
#include <utility>

#include "document/hex_id.hpp"
#include "host/stable_link.hpp"
#include "host/sysfs.hpp"
#include "kinds/groups/part.hpp"

namespace plughost {
namespace {

constexpr const char* kBus = "usb";

// A device that is plugged in.
struct Plugged {
  SysDevice device;
  std::string vendor;
  std::string product;
  std::string serial;  // empty: it has none
  std::string port;    // "1-2.4": bus 1, port 2 of the root hub, port 4 of the hub there
};

class UsbPart final : public GroupPart {
 public:
  explicit UsbPart(Fields& fields);
  std::vector<Piece> find(const HostRoot& host, Scan& scan) const override;

 private:
  std::vector<Plugged> matches(const HostRoot& host) const;
  Piece piece(const Plugged& plugged, bool serial_is_unique) const;
  void add_nodes(const Plugged& plugged, bool serial_is_unique, Piece& piece) const;

  std::string vendor_;  // empty: any, as in the others
  std::string product_;
  std::string serial_;
  std::string port_;
  std::vector<std::string> nodes_;  // subsystems; kBus: the device's own node on the bus
  Template mount_path_;
  std::string permissions_;
};

UsbPart::UsbPart(Fields& fields) {
  vendor_ = read_hex_id(fields, "vendor");
  product_ = read_hex_id(fields, "product");
  serial_ = fields.text("serial", "");
  port_ = fields.text("port", "");
  if (!fields.has("vendor") && !fields.has("product") && !fields.has("serial") && !fields.has("port")) {
    fields.error(
        "vendor",
        "say which USB device is meant: vendor and product as lsusb shows them, serial or port, as in "
        "{vendor: \"1a86\", product: \"7523\"}");
  }
  nodes_ = fields.texts("nodes");
  for (const std::string& subsystem : nodes_) {
    if (subsystem.empty() || subsystem.find('/') != std::string::npos)
      fields.error("nodes",
                   "nodes are subsystems of the kernel, as in [tty, hidraw]; usb is the node on the bus");
  }
  if (nodes_.empty()) nodes_ = {kBus};
  mount_path_ = read_mount_path(fields);
  permissions_ = fields.permissions();
  read_terms(fields, *this);
}

std::vector<Plugged> UsbPart::matches(const HostRoot& host) const {
  const auto differs = [](const std::string& wanted, const std::string& found) {
    return !wanted.empty() && wanted != found;
  };
  std::vector<Plugged> found;
  for (SysDevice& device : devices_of(host, kBus)) {
    const std::optional<std::string> vendor = device.attribute("idVendor");
    if (!vendor) continue;  // an interface of a device
    Plugged plugged{.device = device,
                    .vendor = *vendor,
                    .product = device.attribute("idProduct").value_or(""),
                    .serial = device.attribute("serial").value_or(""),
                    .port = device.name()};
    if (differs(vendor_, plugged.vendor) || differs(product_, plugged.product) ||
        differs(serial_, plugged.serial) || differs(port_, plugged.port))
      continue;
    found.push_back(std::move(plugged));
  }
  return found;
}

std::vector<Piece> UsbPart::find(const HostRoot& host, Scan& scan) const {
  scan.subsystems.emplace_back(kBus);
  scan.subsystems.insert(scan.subsystems.end(), nodes_.begin(), nodes_.end());
  const std::vector<Plugged> all = matches(host);
  std::map<std::string, unsigned> with_serial;
  for (const Plugged& plugged : all) ++with_serial[plugged.serial];
  std::vector<Piece> pieces;
  for (const Plugged& plugged : all) {
    const unsigned same = with_serial[plugged.serial];
    if (!plugged.serial.empty() && same > 1) {
      scan.remarks.push_back("the USB device at port " + plugged.port + " has the serial number " +
                             plugged.serial + " as another one has: it is known by its port");
    }
    pieces.push_back(piece(plugged, !plugged.serial.empty() && same == 1));
  }
  return pieces;
}

Piece UsbPart::piece(const Plugged& plugged, bool serial_is_unique) const {
  Piece piece{.name = serial_is_unique ? plugged.vendor + ':' + plugged.product + ':' + plugged.serial
                                       : "usb-" + plugged.port,
              .attributes = {},
              .nodes = {},
              .mounts = {},
              .numa_nodes = {},
              .trouble = {}};
  add_nodes(plugged, serial_is_unique, piece);
  const std::string path = piece.nodes.empty() ? "" : piece.nodes.front().host_path;
  piece.attributes = {{.name = "name", .value = piece.name},
                      {.name = "path", .value = path},
                      {.name = "target", .value = path},
                      {.name = "vendor", .value = plugged.vendor},
                      {.name = "product", .value = plugged.product},
                      {.name = "serial", .value = plugged.serial},
                      {.name = "port", .value = plugged.port}};
  if (const auto numa = plugged.device.numa_node()) piece.numa_nodes = {*numa};
  return piece;
}

void UsbPart::add_nodes(const Plugged& plugged, bool serial_is_unique, Piece& piece) const {
  for (const std::string& subsystem : nodes_) {
    std::vector<SysDevice> devices;
    if (subsystem == kBus)
      devices.push_back(plugged.device);
    else
      devices = plugged.device.below(subsystem);
    const std::size_t before = piece.nodes.size();
    for (const SysDevice& device : devices) {
      const std::optional<std::string> node = device.node();
      if (!node) continue;
      // The kubelet keeps an answer for the container's life: a link outlives a new number of the node.
      std::optional<std::string> link;
      if (subsystem != kBus) link = serial_is_unique ? link_by_id(device) : link_by_path(device);
      piece.nodes.push_back({.host_path = link.value_or(*node),
                             .container_path = place(mount_path_, device.name(), *node),
                             .permissions = permissions_});
    }
    if (piece.nodes.size() == before && piece.trouble.empty()) {
      piece.trouble = "the USB device at port " + plugged.port + " has no " + subsystem +
                      " node: is its driver loaded, and has it been given to another one?";
    }
  }
}

}  // namespace

std::unique_ptr<GroupPart> read_usb_part(Fields& fields) {
  return std::make_unique<UsbPart>(fields);
}

}  // namespace plughost
