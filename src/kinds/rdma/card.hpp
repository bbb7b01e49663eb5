#pragma once
// RDMA devices from /sys/class/infiniband: InfiniBand, RoCE and iWARP cards, and software devices (rxe, siw).
// Internal to kinds. Worker threads: reading a port's state queries the driver, which may hang.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/hardware/pci_function.hpp"
#include "host/hardware/sysfs.hpp"
#include "kinds/kind.hpp"

namespace plughost {

struct RdmaPort {
  std::string number;
  std::string state;  // "ACTIVE", "DOWN"; empty: unknown
};

class RdmaCard {
 public:
  explicit RdmaCard(SysDevice device);

  // Returns the card's present name, which udev may change.
  std::string name() const { return device_.name(); }
  // Returns a lasting id: the PCI address, or the node GUID of a card without a PCI address of its own.
  const std::string& id() const { return id_; }
  const std::string& guid() const { return guid_; }               // empty: none
  const std::optional<PciFunction>& pci() const { return pci_; }  // nullopt: a software device
  std::optional<int> numa_node() const { return device_.numa_node(); }
  // Returns the PCI function's path in the device tree; the card's path if other devices share the function.
  std::string place() const;

  std::vector<std::string> netdevs() const;  // the card's own network interfaces, sorted
  // See Hardware::in_namespace.
  std::vector<std::string> in_namespace() const;
  std::vector<std::string> link_types() const;  // of its ports: "infiniband", "ether"; each once
  std::vector<RdmaPort> ports() const;

 private:
  friend std::vector<RdmaCard> rdma_cards(const HostRoot& host);
  std::string id_without_address() const { return guid_.empty() ? name() : guid_; }

  SysDevice device_;
  std::optional<PciFunction> pci_;
  std::string guid_;
  std::string id_;
};

// Returns all cards, sorted by id.
std::vector<RdmaCard> rdma_cards(const HostRoot& host);

// The paths of a card's nodes in /dev/infiniband.
struct RdmaNodes {
  std::string uverbs;              // empty: none yet
  std::vector<std::string> umads;  // one per port, if the module ib_umad is loaded
  std::vector<std::string> issms;  // one per port with an InfiniBand link
  std::string rdma_cm;             // one for all cards; empty: the module rdma_ucm is not loaded

  std::vector<std::string> all() const;
};
// Returns the nodes by the cards' names.
std::map<std::string, RdmaNodes> rdma_nodes(const HostRoot& host, Scan& scan);

}  // namespace plughost
