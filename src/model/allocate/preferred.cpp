#include "model/allocate/preferred.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace plughost {
namespace {

// The ids of a device that can still be chosen, in the order of `available`.
struct Published {
  std::vector<const std::string*> free;
  std::size_t next = 0;
  std::size_t in_use = 0;
  std::size_t given = 0;  // ids that the container gets in any case
  unsigned near = 0;      // see nearness()

  unsigned far() const { return std::numeric_limits<unsigned>::max() - near; }
};

// Finds the set of devices with the largest sum of scores over all pairs. Among equal sums, it finds the set
// that is nearest to another resource's devices.
class BondedSearch {
 public:
  // The largest number of candidates for an exhaustive search: 8 of 16 are 12,870 sets.
  static constexpr std::size_t kMostExact = 16;

  // `fixed` has the devices that are in every set. All numbers are positions in the inventory.
  BondedSearch(const Inventory& inventory, const std::vector<std::size_t>& fixed,
               std::vector<std::size_t> candidates, const std::vector<Published>& choices)
      : candidates_(std::move(candidates)) {
    const auto devices = inventory.devices();
    for (const std::size_t i : candidates_) {
      std::vector<Sum>& row = scores_.emplace_back();
      for (const std::size_t j : candidates_) row.push_back(i == j ? 0 : score(devices[i], devices[j]));
      Sum& own = own_.emplace_back(choices[i].near);
      for (const std::size_t j : fixed) own += score(devices[i], devices[j]);
    }
  }

  // Returns the set in the inventory's order. Among equal sets the first wins.
  std::vector<std::size_t> best(std::size_t wanted) const {
    Set set;
    if (candidates_.size() <= kMostExact) {
      Set now;
      std::optional<Sum> most;
      descend(wanted, 0, 0, now, set, most);
    } else {
      set = grown(wanted);
    }
    std::ranges::sort(set);
    std::ranges::transform(set, set.begin(), [this](std::size_t i) { return candidates_[i]; });
    return set;
  }

 private:
  using Set = std::vector<std::size_t>;  // positions in candidates_
  // The upper half is the sum of the scores. The lower half, the nearness, decides among equal scores.
  using Sum = std::uint64_t;

  static Sum score(const Device& one, const Device& other) {
    const std::string* const there = other.attribute("pci");
    if (!there) return 0;
    const auto bond = std::ranges::find(one.hardware->bonds, *there, &Bond::pci);
    return bond == one.hardware->bonds.end() ? 0 : Sum{bond->score} << 32;
  }

  Sum gain(const Set& set, std::size_t i) const {
    Sum sum = own_[i];
    for (const std::size_t j : set) sum += scores_[i][j];
    return sum;
  }

  void descend(std::size_t wanted, std::size_t from, Sum sum, Set& now, Set& set,
               std::optional<Sum>& most) const {
    if (now.size() == wanted) {
      if (most && sum <= *most) return;
      most = sum;
      set = now;
      return;
    }
    for (std::size_t i = from; i + (wanted - now.size()) <= candidates_.size(); ++i) {
      const Sum more = gain(now, i);
      now.push_back(i);
      descend(wanted, i + 1, sum + more, now, set, most);
      now.pop_back();
    }
  }

  // From each candidate, grows a set by the device that gains most each time. Returns the best of the sets.
  Set grown(std::size_t wanted) const {
    Set best_set;
    std::optional<Sum> most;
    for (std::size_t first = 0; first < candidates_.size() && wanted > 0; ++first) {
      Set set{first};
      Sum sum = own_[first];
      while (set.size() < wanted) {
        std::optional<std::size_t> next;
        Sum next_gain = 0;
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
          if (std::ranges::find(set, i) != set.end()) continue;
          const Sum more = gain(set, i);
          if (next && more <= next_gain) continue;
          next = i;
          next_gain = more;
        }
        set.push_back(*next);
        sum += next_gain;
      }
      if (most && sum <= *most) continue;
      most = sum;
      best_set = std::move(set);
    }
    return best_set;
  }

  std::vector<std::size_t> candidates_;
  std::vector<std::vector<Sum>> scores_;
  std::vector<Sum> own_;  // each candidate's nearness, and its scores with the fixed devices
};

class Chooser {
 public:
  Chooser(const Inventory& inventory, std::span<const std::string> must_include, std::size_t size)
      : inventory_(inventory), choices_(inventory.devices().size()), size_(size) {
    for (const std::string& id : must_include) {
      if (!seen_.insert(id).second) continue;
      chosen_.push_back(id);
      if (const Device* const device = inventory.find(id)) ++choices_[position(device)].given;
    }
  }

  // `paths` are PCI paths that the container's devices should be near to.
  void prefer_near(std::span<const std::string> paths) {
    if (paths.empty()) return;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::string* const path = inventory_.devices()[i].attribute("pciPath");
      if (path) choices_[i].near = nearness(*path, paths);
    }
  }

  // Records the available ids that have not been chosen, each once. finish() adds ids that the terms exclude
  // last, followed by unknown ids.
  void snapshot(std::span<const std::string> available, const ShareTerms& terms) {
    for (std::size_t i = 0; i < choices_.size(); ++i) choices_[i].in_use = inventory_.devices()[i].replicas;
    for (const std::string& id : available) {
      if (!seen_.insert(id).second) continue;
      const Device* const device = inventory_.find(id);
      if (!device) {
        unknown_.push_back(&id);
        continue;
      }
      Published& choice = choices_[position(device)];
      if (choice.in_use > 0) --choice.in_use;
      const bool another = choice.free.empty() && choice.given == 0;
      if (!is_among(*device, terms.same) || (terms.of == SharesOf::kDifferentDevices && !another)) {
        elsewhere_.push_back(&id);
      } else {
        choice.free.push_back(&id);
        known_.push_back(&id);
      }
    }
  }

  // Chooses all ids from one device that has enough: with `least_used` the least used device, else the device
  // that leaves the smallest rest. Returns false, and chooses nothing, if no device has enough.
  bool choose_one_card(bool least_used) {
    std::optional<std::size_t> fixed;
    for (const std::string& id : chosen_) {
      const Device* const device = inventory_.find(id);
      if (!device || (fixed && *fixed != position(device))) return false;
      fixed = position(device);
    }
    const auto rank = [&](std::size_t i) {
      return std::pair(least_used ? choices_[i].in_use : choices_[i].free.size(), choices_[i].far());
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].free.size() < wanted() || (fixed && *fixed != i)) continue;
      if (!best || rank(i) < rank(*best)) best = i;
    }
    if (!best) return false;
    for (const std::string* id : choices_[*best].free) choose(*id);
    return true;
  }

  void choose_as_listed() {
    std::ranges::stable_sort(known_, std::ranges::greater{}, [this](const std::string* id) {
      return choices_[position(inventory_.find(*id))].near;
    });
    for (const std::string* id : known_) choose(*id);
  }

  void choose_packed() {
    std::vector<std::size_t> all(choices_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    choose_packed(std::move(all));
  }

  // `first` is a device that the container already has; nullptr if no such device has a NUMA node.
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
    choose_packed();  // devices without a NUMA node
  }

  // Returns true if no free device has replicas, and the distances between some of these devices are known.
  bool has_bonds() const {
    bool some = false;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (choices_[i].free.empty()) continue;
      if (inventory_.devices()[i].replicas > 1) return false;
      some = some || !inventory_.devices()[i].hardware->bonds.empty();
    }
    return some;
  }

  // Chooses the set of free devices that are nearest to each other and to the container's present devices.
  void choose_bonded() {
    std::vector<std::size_t> free;
    std::vector<std::size_t> fixed;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (!choices_[i].free.empty()) free.push_back(i);
    }
    for (const std::string& id : chosen_) {
      if (const Device* device = inventory_.find(id)) fixed.push_back(position(device));
    }
    const BondedSearch search(inventory_, fixed, free, choices_);
    for (const std::size_t i : search.best(std::min(free.size(), wanted())))
      choose(*choices_[i].free.front());
  }

  // Chooses ids one by one from the least used device. With `different_first`, prefers the devices of which
  // the container has the fewest ids.
  void choose_distributed(bool different_first) {
    // The ids that the container has, the ids in use, the distance, and the device's position.
    using Load = std::tuple<std::size_t, std::size_t, unsigned, std::size_t>;
    std::priority_queue<Load, std::vector<Load>, std::ranges::greater> least;
    const std::size_t own = different_first ? 1 : 0;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const Published& choice = choices_[i];
      if (!choice.free.empty()) least.emplace(own * choice.given, choice.in_use, choice.far(), i);
    }
    while (!least.empty() && chosen_.size() < size_) {
      const auto [has, in_use, distance, i] = least.top();
      least.pop();
      Published& choice = choices_[i];
      choose(*choice.free[choice.next++]);
      if (choice.next < choice.free.size()) least.emplace(has + own, in_use + 1, distance, i);
    }
  }

  std::vector<std::string> finish() && {
    for (const std::string* id : elsewhere_) choose(*id);
    for (const std::string* id : unknown_) choose(*id);
    return std::move(chosen_);
  }

 private:
  static bool is_among(const Device& device, std::span<const CardName> cards) {
    return cards.empty() || std::ranges::any_of(cards, [own = card_of(device)](const CardName& card) {
             return same_card(own, card);
           });
  }

  std::size_t wanted() const { return size_ - std::min(size_, chosen_.size()); }
  std::size_t position(const Device* device) const {
    return static_cast<std::size_t>(device - inventory_.devices().data());
  }

  // By NUMA node: positions of devices with free ids.
  using Nodes = std::map<int, std::vector<std::size_t>>;

  // Returns the node with the fewest free ids that suffice, or the node with the most ids if none suffice.
  Nodes::iterator best_node(Nodes& nodes) const {
    const auto rank = [this, wanted = wanted()](const Nodes::value_type& node) {
      std::size_t free = 0;
      unsigned far = std::numeric_limits<unsigned>::max();
      for (const std::size_t i : node.second) {
        free += choices_[i].free.size();
        far = std::min(far, choices_[i].far());
      }
      return free >= wanted ? std::tuple(false, free, far) : std::tuple(true, known_.size() - free, far);
    };
    return std::ranges::min_element(nodes, {}, rank);
  }

  // Each free id is chosen once, even if its device occurs several times.
  void choose_packed(std::vector<std::size_t> devices) {
    std::ranges::stable_sort(devices, std::ranges::greater{}, [this](std::size_t i) {
      return std::pair(choices_[i].in_use, choices_[i].near);
    });
    for (const std::size_t i : devices) {
      for (const std::string* id : std::exchange(choices_[i].free, {})) choose(*id);
    }
  }

  void choose(const std::string& id) {
    if (chosen_.size() < size_) chosen_.push_back(id);
  }

  const Inventory& inventory_;
  std::vector<Published> choices_;  // by the device's position in the inventory
  std::vector<const std::string*> known_;
  std::vector<const std::string*> elsewhere_;
  std::vector<const std::string*> unknown_;
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string> chosen_;
  std::size_t size_;
};

// Returns the first of these devices that has a NUMA node; nullptr if no device has one.
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
                                   std::span<const std::string> must_include, std::size_t size,
                                   std::span<const std::string> near, const ShareTerms& terms) {
  Chooser chooser(inventory, must_include, size);
  chooser.prefer_near(near);
  chooser.snapshot(available, terms);
  const bool one = terms.of == SharesOf::kOneDevice || policy == AllocationPolicy::kOneCard;
  const bool least_used = policy == AllocationPolicy::kDistributed || policy == AllocationPolicy::kSpread;
  if (one && chooser.choose_one_card(least_used)) return std::move(chooser).finish();
  switch (policy) {
    case AllocationPolicy::kNone:
      chooser.choose_as_listed();
      break;
    case AllocationPolicy::kPacked:
    case AllocationPolicy::kOneCard:
      chooser.choose_packed();
      break;
    case AllocationPolicy::kDistributed:
      chooser.choose_distributed(false);
      break;
    case AllocationPolicy::kSpread:
      chooser.choose_distributed(true);
      break;
    case AllocationPolicy::kAligned:
      if (chooser.has_bonds())
        chooser.choose_bonded();
      else
        chooser.choose_aligned(first_with_node(inventory, must_include));
      break;
  }
  return std::move(chooser).finish();
}

}  // namespace plughost
