#include "device/preferred.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace plughost {
namespace {

// A device and those of its ids that may be chosen still, in the order in which they were offered.
struct Choice {
  std::vector<const std::string*> free;
  std::size_t next = 0;
  std::size_t in_use = 0;
};

class Chooser {
 public:
  Chooser(const Inventory& inventory, std::span<const std::string> must_include, std::size_t size)
      : inventory_(inventory), choices_(inventory.devices().size()), size_(size) {
    for (const std::string& id : must_include) {
      if (seen_.insert(id).second) chosen_.push_back(id);
    }
  }

  // The ids among available that have not been chosen yet, each once; those that no device has go last.
  void offer(std::span<const std::string> available) {
    for (const std::string& id : available) {
      if (!seen_.insert(id).second) continue;
      if (const Device* device = inventory_.find(id)) {
        choices_[static_cast<std::size_t>(device - inventory_.devices().data())].free.push_back(&id);
        known_.push_back(&id);
      } else {
        unknown_.push_back(&id);
      }
    }
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::size_t replicas = inventory_.devices()[i].replicas;
      choices_[i].in_use = replicas - std::min(replicas, choices_[i].free.size());
    }
  }

  void choose_as_offered() {
    for (const std::string* id : known_) choose(*id);
  }

  void choose_packed() {
    std::vector<std::size_t> all(choices_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    choose_packed(std::move(all));
  }

  // first: a device that the container has already; nullptr if none has a NUMA node.
  void choose_aligned(const Device* first) {
    Nodes nodes;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].free.empty()) continue;
      for (const int node : inventory_.devices()[i].numa_nodes) nodes[node].push_back(i);
    }
    if (first) {
      Nodes own;
      for (const int node : first->numa_nodes) {
        if (auto item = nodes.extract(node)) own.insert(std::move(item));
      }
      if (!own.empty()) choose_packed(best_node(own)->second);
      nodes.merge(own);
    }
    while (!nodes.empty() && chosen_.size() < size_) {
      const auto node = best_node(nodes);
      choose_packed(node->second);
      nodes.erase(node);
    }
    choose_packed();  // of those without a NUMA node
  }

  void choose_distributed() {
    using Load = std::pair<std::size_t, std::size_t>;  // how many are in use, and the device's position
    std::priority_queue<Load, std::vector<Load>, std::ranges::greater> least;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (!choices_[i].free.empty()) least.emplace(choices_[i].in_use, i);
    }
    while (!least.empty() && chosen_.size() < size_) {
      const auto [in_use, i] = least.top();
      least.pop();
      Choice& choice = choices_[i];
      choose(*choice.free[choice.next++]);
      if (choice.next < choice.free.size()) least.emplace(in_use + 1, i);
    }
  }

  std::vector<std::string> finish() && {
    for (const std::string* id : unknown_) choose(*id);
    return std::move(chosen_);
  }

 private:
  // The devices of each NUMA node that have free ids, by their positions.
  using Nodes = std::map<int, std::vector<std::size_t>>;

  // The node whose free ids are enough, and of those the fewest; if none has enough, the one with the most.
  Nodes::iterator best_node(Nodes& nodes) const {
    const std::size_t wanted = size_ - std::min(size_, chosen_.size());
    const auto rank = [&](const Nodes::value_type& node) {
      std::size_t free = 0;
      for (const std::size_t i : node.second) free += choices_[i].free.size();
      return free >= wanted ? std::pair(false, free) : std::pair(true, known_.size() - free);
    };
    return std::ranges::min_element(nodes, {}, rank);
  }

  // Each free id is taken once, however often its device is named.
  void choose_packed(std::vector<std::size_t> devices) {
    std::ranges::stable_sort(devices, std::ranges::greater{},
                             [this](std::size_t i) { return choices_[i].in_use; });
    for (const std::size_t i : devices) {
      for (const std::string* id : std::exchange(choices_[i].free, {})) choose(*id);
    }
  }

  void choose(const std::string& id) {
    if (chosen_.size() < size_) chosen_.push_back(id);
  }

  const Inventory& inventory_;
  std::vector<Choice> choices_;  // by the device's position in the inventory
  std::vector<const std::string*> known_;
  std::vector<const std::string*> unknown_;
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string> chosen_;
  std::size_t size_;
};

// nullptr: none of them has a NUMA node.
const Device* first_with_node(const Inventory& inventory, std::span<const std::string> ids) {
  for (const std::string& id : ids) {
    const Device* device = inventory.find(id);
    if (device && !device->numa_nodes.empty()) return device;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> preferred(AllocationPolicy policy, const Inventory& inventory,
                                   std::span<const std::string> available,
                                   std::span<const std::string> must_include, std::size_t size) {
  Chooser chooser(inventory, must_include, size);
  chooser.offer(available);
  switch (policy) {
    case AllocationPolicy::kNone:
      chooser.choose_as_offered();
      break;
    case AllocationPolicy::kPacked:
      chooser.choose_packed();
      break;
    case AllocationPolicy::kDistributed:
      chooser.choose_distributed();
      break;
    case AllocationPolicy::kAligned:
      chooser.choose_aligned(first_with_node(inventory, must_include));
      break;
  }
  return std::move(chooser).finish();
}

}  // namespace plughost
