#include "kinds/rdma/card.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::string_view kNoGuid = "0000:0000:0000:0000";

// Returns the word that other plugins use for a port's link_layer.
std::string link_type(const std::string& link_layer) {
  if (link_layer == "InfiniBand") return "infiniband";
  if (link_layer == "Ethernet") return "ether";
  return {};
}

}  // namespace

RdmaCard::RdmaCard(SysDevice device) : device_(std::move(device)) {
  guid_ = device_.attribute("node_guid").value_or("");
  if (guid_ == kNoGuid) guid_.clear();
  if (const auto function = device_.parent("pci")) pci_ = pci_function(*function);
  // A subfunction's parent is an auxiliary device, and several subfunctions share a PCI function.
  const std::optional<SysDevice> parent = device_.parent();
  id_ = parent && parent->subsystem() == "pci" ? pci_->address : id_without_address();
}

std::string RdmaCard::place() const {
  return pci_ && id_ == pci_->address ? device_.parent()->path() : device_.path();
}

std::vector<std::string> RdmaCard::netdevs() const {
  std::vector<std::string> names;
  if (const auto parent = device_.parent()) names = own_interfaces(*parent);
  if (!names.empty()) return names;
  for (const std::string& port : device_.names_in("ports")) {
    const std::string entries = "ports/" + port + "/gid_attrs/ndevs";
    for (const std::string& entry : device_.names_in(entries)) {
      // An unused entry cannot be read.
      const std::optional<std::string> name = device_.attribute(entries + '/' + entry);
      if (name && !name->empty()) names.push_back(*name);
    }
  }
  sort_unique(names);
  return names;
}

std::vector<std::string> RdmaCard::in_namespace() const {
  std::vector<std::string> directories{std::filesystem::path(device_.path()).parent_path().string()};
  const auto parent = device_.parent();
  if (parent && !own_interfaces(*parent).empty()) directories.push_back(parent->path() + "/net");
  return directories;
}

std::vector<std::string> RdmaCard::link_types() const {
  std::vector<std::string> types;
  for (const std::string& port : device_.names_in("ports")) {
    std::string type = link_type(device_.attribute("ports/" + port + "/link_layer").value_or(""));
    if (!type.empty()) types.push_back(std::move(type));
  }
  sort_unique(types);
  return types;
}

std::vector<RdmaPort> RdmaCard::ports() const {
  std::vector<RdmaPort> ports;
  for (const std::string& number : device_.names_in("ports")) {
    const std::string state = device_.attribute("ports/" + number + "/state").value_or("");  // "4: ACTIVE"
    const std::size_t colon = state.find(": ");
    ports.push_back({.number = number, .state = colon == state.npos ? "" : state.substr(colon + 2)});
  }
  return ports;
}

std::vector<RdmaCard> rdma_cards(const HostRoot& host) {
  std::vector<RdmaCard> cards;
  for (SysDevice& device : devices_of(host, "infiniband")) cards.emplace_back(std::move(device));
  // Older kernels place rxe and siw below the network card's function. Their GUIDs derive from the card's MAC
  // address with the local bit set, so that the card's own GUID comes first.
  const auto order = [](const RdmaCard& card) { return std::tuple(card.id(), card.guid(), card.name()); };
  std::ranges::sort(cards, {}, order);
  std::string taken;
  for (RdmaCard& card : cards) {
    if (card.id_ == taken)
      card.id_ = card.id_without_address();
    else
      taken = card.id_;
  }
  std::ranges::sort(cards, {}, order);
  return cards;
}

std::vector<std::string> RdmaNodes::all() const {
  std::vector<std::string> paths;
  if (!uverbs.empty()) paths.push_back(uverbs);
  std::ranges::copy(umads, std::back_inserter(paths));
  std::ranges::copy(issms, std::back_inserter(paths));
  if (!rdma_cm.empty()) paths.push_back(rdma_cm);
  return paths;
}

std::map<std::string, RdmaNodes> rdma_nodes(const HostRoot& host, Scan& scan) {
  std::map<std::string, RdmaNodes> nodes;
  for (const SysDevice& device : devices_of(host, "infiniband_verbs"))
    if (const auto node = node_of(device, scan)) nodes[device.attribute("ibdev").value_or("")].uverbs = *node;
  for (const SysDevice& device : devices_of(host, "infiniband_mad")) {
    const auto node = node_of(device, scan);
    if (!node) continue;
    RdmaNodes& card = nodes[device.attribute("ibdev").value_or("")];
    (device.name().starts_with("issm") ? card.issms : card.umads).push_back(*node);
  }
  const auto rdma_cm = SysDevice::at(host, "/sys/class/misc/rdma_cm");
  if (rdma_cm) {
    for (auto& [name, card] : nodes) card.rdma_cm = node_of(*rdma_cm, scan).value_or("");
  }
  return nodes;
}

}  // namespace plughost
