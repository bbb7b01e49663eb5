#pragma once
// RDMA devices, as /sys/class/infiniband shows them: InfiniBand, RoCE and iWARP cards, and those that are
// software (rxe, siw). Internal to kinds. Worker threads: a driver is asked for a port's state, and may hang.

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
  std::string state;  // "ACTIVE", "DOWN"; empty: its driver does not tell
};

class RdmaCard {
 public:
  explicit RdmaCard(SysDevice device);

  // Its name now: udev renames cards.
  std::string name() const { return device_.name(); }
  // What stays when it is renamed: the PCI address; without one of its own, the node GUID.
  const std::string& id() const { return id_; }
  const std::string& guid() const { return guid_; }               // empty: it has none
  const std::optional<PciFunction>& pci() const { return pci_; }  // nullopt: software
  std::optional<int> numa_node() const { return device_.numa_node(); }
  // In the kernel's tree of devices: its PCI function's, unless it shares that with others.
  std::string place() const;

  std::vector<std::string> netdevs() const;  // its own network interfaces, sorted
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

// Sorted by id.
std::vector<RdmaCard> rdma_cards(const HostRoot& host);

// The paths of a card's nodes in /dev/infiniband.
struct RdmaNodes {
  std::string uverbs;              // empty: there is none yet
  std::vector<std::string> umads;  // one per port, where the module ib_umad is loaded
  std::vector<std::string> issms;  // one per port with an InfiniBand link
  std::string rdma_cm;             // one for all cards; empty: the module rdma_ucm is not loaded

  std::vector<std::string> all() const;
};
// By the cards' names.
std::map<std::string, RdmaNodes> rdma_nodes(const HostRoot& host, Scan& scan);

}  // namespace plughost
