// `rdma: {selectors: {vendors, deviceIDs, drivers, ifNames, linkTypes}, portState, pool, permissions}`: RDMA
// cards, each a device with all of its nodes, or all cards as one device.

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/document/fields.hpp"
#include "base/system/event_loop.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "kinds/rdma/card.hpp"

namespace plughost {
namespace {

constexpr std::string_view kRdmaAttributes[] = {
    "pci",      "name", "guid",    "vendor",  "device", "class", "driver", "netdevs",
    "linkType", "numa", "pciInfo", "pciPath", "physfn", "vf",    "vfs",    "pfName"};
constexpr std::string_view kActive = "ACTIVE";
// The interval in which port states are read, and how long a new state must last to count.
constexpr std::chrono::seconds kPortStateInterval{5};

enum class PortPolicy { kAny, kAll, kIgnore };
constexpr Word<PortPolicy> kPolicies[] = {
    {"any", PortPolicy::kAny}, {"all", PortPolicy::kAll}, {"ignore", PortPolicy::kIgnore}};

struct WantedCards {
  PciSelectors pci;
  std::vector<std::string> netdevs;     // fnmatch(3)
  std::vector<std::string> link_types;  // as in RdmaCard::link_types()
};

template <class Fits>
bool any_fits(const std::vector<std::string>& wanted, const std::vector<std::string>& found, Fits fits) {
  return std::ranges::any_of(wanted, [&](const std::string& each) {
    return std::ranges::any_of(found, [&](const std::string& one) { return fits(each, one); });
  });
}

// Returns the rule that leaves the card out; empty if the card is wanted. Reads from the driver only if
// everything else matches, because the card of another entry may hang.
std::string rule_against(const RdmaCard& card, const WantedCards& wanted) {
  std::string rule = wanted.pci.rule_against(card.pci().value_or(PciFunction{}));
  if (!rule.empty()) return rule;
  if (!wanted.netdevs.empty() && !any_fits(wanted.netdevs, card.netdevs(), matches))
    return "it has no interface " + joined(wanted.netdevs, " or ");
  if (!wanted.link_types.empty() && !any_fits(wanted.link_types, card.link_types(), std::equal_to<>()))
    return "its link type is not " + joined(wanted.link_types, " or ");
  return {};
}

bool satisfies(PortPolicy policy, const std::vector<RdmaPort>& ports) {
  const auto active = [](const RdmaPort& port) { return port.state == kActive; };
  if (policy == PortPolicy::kAny) return std::ranges::any_of(ports, active);
  return policy == PortPolicy::kIgnore || (!ports.empty() && std::ranges::all_of(ports, active));
}

// Returns "port 1 is DOWN, port 2 is INIT".
std::string inactive_ports(const std::vector<RdmaPort>& ports) {
  std::string text;
  for (const RdmaPort& port : ports) {
    if (port.state == kActive) continue;
    text += (text.empty() ? "port " : ", port ") + port.number +
            (port.state.empty() ? " does not report its state" : " is " + port.state);
  }
  return ports.empty() ? "it has no port" : text;
}

// A boolean whose new value counts after kPortStateInterval: a flapping link must not fill the kubelet's log.
class Lasting {
 public:
  explicit Lasting(bool first) : value_(first) {}

  bool see(bool now_seen, LoopClock::time_point now) {
    if (now_seen == value_) {
      other_since_.reset();
    } else if (!other_since_) {
      other_since_ = now;
    } else if (now - *other_since_ >= kPortStateInterval) {
      value_ = now_seen;
      other_since_.reset();
    }
    return value_;
  }

 private:
  bool value_;
  std::optional<LoopClock::time_point> other_since_;
};

bool lacks_rdma_cm(const Device& card) {
  return !card.nodes.empty() && std::ranges::none_of(card.nodes, [](const DeviceNode& node) {
    return node.host_path == "/dev/infiniband/rdma_cm";
  });
}

// Returns all cards as one device, which is Healthy while one of them is.
Device pool_of(const std::vector<Device>& cards, const std::string& id) {
  Device pool;
  pool.id = id;
  std::set<std::string> paths;
  std::set<int> numa_nodes;
  for (const Device& card : cards) {
    for (const DeviceNode& node : card.nodes)
      if (paths.insert(node.host_path).second) pool.nodes.push_back(node);
    numa_nodes.insert(card.numa_nodes.begin(), card.numa_nodes.end());
    std::ranges::copy(card.hardware->units, std::back_inserter(pool.hardware.edit().units));
    for (const Attribute& attribute : card.attributes) {
      const auto same = std::ranges::find(pool.attributes, attribute.name, &Attribute::name);
      if (same == pool.attributes.end())
        pool.attributes.push_back(attribute);
      else
        same->value += ',' + attribute.value;
    }
  }
  pool.numa_nodes.assign(numa_nodes.begin(), numa_nodes.end());
  if (std::ranges::none_of(cards, &Device::healthy))
    pool.error = "none of its cards works; " + cards.front().id + ": " + cards.front().error;
  return pool;
}

class Rdma final : public DeviceSource {
 public:
  // `pool_id` is the id of the device that combines all cards; if empty, each card is a device.
  Rdma(WantedCards wanted, PortPolicy policy, std::string permissions, std::string pool_id)
      : wanted_(std::move(wanted)),
        policy_(policy),
        permissions_(std::move(permissions)),
        pool_id_(std::move(pool_id)) {}

  Scan scan(const HostRoot& host) const override;
  void finish(Scan& taken, const AllocationSpec& spec) const override;

 private:
  Device device_of(const RdmaCard& card, const RdmaNodes& nodes) const;
  std::string port_error(const RdmaCard& card) const;

  WantedCards wanted_;
  PortPolicy policy_;
  std::string permissions_;
  std::string pool_id_;
  // Not guarded, because scans of a source never run concurrently. Both are keyed by the cards' ids: the
  // scan's cards, whose ports finish() reads, and whether the ports have the required state.
  mutable std::map<std::string, RdmaCard> found_;
  mutable std::map<std::string, Lasting> ports_good_;
};

Scan Rdma::scan(const HostRoot& host) const {
  Scan scan;
  scan.subsystems = {"infiniband", "infiniband_verbs", "infiniband_mad", "net", "pci", "misc"};
  if (policy_ != PortPolicy::kIgnore) scan.rescan_after = kPortStateInterval;
  std::map<std::string, RdmaNodes> nodes = rdma_nodes(host, scan);
  found_.clear();
  if (host.recorded()) ports_good_.clear();  // the states belong to another machine
  Funnel funnel{.selector = "rdma", .candidates = "RDMA device"};
  for (const RdmaCard& card : rdma_cards(host)) {
    if (!funnel.pass(rule_against(card, wanted_))) continue;
    scan.devices.push_back(device_of(card, nodes[card.name()]));
    found_.emplace(card.id(), card);
  }
  if (funnel.seen == 0) funnel.nothing = "the kernel has no RDMA device: is the card's RDMA driver loaded?";
  scan.funnels = {std::move(funnel)};
  return scan;
}

// Reads the ports only now, because the driver of a card that is not chosen may hang.
void Rdma::finish(Scan& taken, const AllocationSpec& /*spec*/) const {
  for (Device& device : taken.devices) {
    const std::string error = port_error(found_.at(device.id));
    if (device.healthy()) device.error = error;
  }
  std::erase_if(ports_good_, [&](const auto& known) {
    return std::ranges::find(taken.devices, known.first, &Device::id) == taken.devices.end();
  });
  if (std::ranges::any_of(taken.devices, lacks_rdma_cm))
    taken.remarks.push_back(
        "the machine has no /dev/infiniband/rdma_cm: programs that connect by it (librdmacm, as ib_send_bw "
        "-R, NVMe-oF and NFS over RDMA do) fail in the containers; is the module rdma_ucm loaded?");
  if (!pool_id_.empty() && !taken.devices.empty()) taken.devices = {pool_of(taken.devices, pool_id_)};
}

// Returns the facts that the SR-IOV network device plugin reports of an RDMA device.
std::map<std::string, std::string> facts_of(const RdmaCard& card, const RdmaNodes& nodes) {
  std::map<std::string, std::string> facts = {{"rdma_dev", card.name()}, {"uverbs", nodes.uverbs}};
  if (!nodes.umads.empty()) facts["umad"] = nodes.umads.front();
  if (!nodes.issms.empty()) facts["issm"] = nodes.issms.front();
  if (!nodes.rdma_cm.empty()) facts["rdma_cm"] = nodes.rdma_cm;
  return facts;
}

Device Rdma::device_of(const RdmaCard& card, const RdmaNodes& nodes) const {
  Device device;
  device.id = card.id();
  device.hardware.edit().units = {card.place()};
  device.hardware.edit().in_namespace = card.in_namespace();
  for (const std::string& path : nodes.all()) device.add_node(path, permissions_);
  if (card.pci()) {
    device.attributes = attributes_of(*card.pci());
    device.add("pciInfo", pci_info(card.pci()->address, "rdma", facts_of(card, nodes)));
  }
  device.add("name", card.name());
  device.add("guid", card.guid());
  device.add("netdevs", joined(card.netdevs(), ","));
  device.add("linkType", joined(card.link_types(), ","));
  device.add_numa_node(card.numa_node());

  if (nodes.uverbs.empty())
    device.error = card.name() + " has no node /dev/infiniband/uverbs*; is the module ib_uverbs loaded?";
  return device;
}

std::string Rdma::port_error(const RdmaCard& card) const {
  if (policy_ == PortPolicy::kIgnore) return {};
  const std::vector<RdmaPort> ports = card.ports();
  const bool good = satisfies(policy_, ports);
  const auto known = ports_good_.try_emplace(card.id(), good).first;
  if (known->second.see(good, LoopClock::now())) return {};
  return good ? "its ports are ACTIVE again, but not for long enough" : inactive_ports(ports);
}

std::vector<std::string> read_link_types(Fields& fields) {
  static constexpr Word<std::string_view> kWords[] = {
      {"infiniband", "infiniband"}, {"ib", "infiniband"}, {"ether", "ether"}, {"ethernet", "ether"}};
  std::vector<std::string> types;
  for (const std::string& text : fields.texts("linkTypes")) {
    if (const auto type = value_of(kWords, to_lower(text)))
      types.emplace_back(*type);
    else
      fields.error("linkTypes", quote(text) + " is not a link type; valid: infiniband, ether");
  }
  return types;
}

// The pool's id must differ from other resources', so it contains the entry's name.
std::string pool_id(Fields& entry) {
  const Node* const name = entry.node("name");
  return name && !name->scalar.empty() ? name->scalar : "pool";
}

std::unique_ptr<const DeviceSource> read_rdma(Fields& entry) {
  Fields fields = entry.below("rdma");
  Fields selectors = fields.below("selectors");
  WantedCards wanted{.pci = {.vendors = read_hex_ids(selectors, "vendors"),
                             .devices = read_hex_ids(selectors, "deviceIDs"),
                             .drivers = selectors.texts("drivers")},
                     .netdevs = selectors.texts("ifNames"),
                     .link_types = read_link_types(selectors)};
  const auto policy = fields.choice("portState", kPolicies, PortPolicy::kAny);
  const bool pool = fields.flag("pool", false);
  std::string permissions = fields.permissions();
  return std::make_unique<Rdma>(std::move(wanted), policy, std::move(permissions),
                                pool ? pool_id(entry) : "");
}

}  // namespace

Kind rdma_kind() { return {.attributes = kRdmaAttributes, .read = read_rdma}; }

}  // namespace plughost
