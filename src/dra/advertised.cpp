#include "dra/advertised.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/number.hpp"
#include "device/id.hpp"
#include "device/same_card.hpp"
#include "dra/device_shares.hpp"
#include "dra/limits.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"
#include "dra/typed_values.hpp"

namespace plughost {
namespace {

constexpr std::string_view kMemory = "memory";
constexpr std::string_view kCores = "cores";
constexpr std::string_view kMemorySlice = "memory-slice-";  // and its number
constexpr unsigned kMostSlices = 16;  // that a card's memory is divided into; there are 8
// Functions of the kernel's that are what their PCI function is, and stand right below it.
constexpr std::array<std::string_view, 6> kFaces = {"accel", "drm",  "infiniband",
                                                    "net",   "nvme", "video4linux"};

// "0000:3b:00.0"
bool is_pci_address(std::string_view text) {
  constexpr std::string_view kForm = "xxxx:xx:xx.x";
  if (text.size() < kForm.size()) return false;
  // A domain may have more digits.
  const std::size_t more = text.size() - kForm.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char form = i < more ? 'x' : kForm[i - more];
    if (form == 'x' ? !is_hex_digit(text[i]) : text[i] != form) return false;
  }
  return true;
}

std::string text_of(const Device& device, std::string_view attribute) {
  const std::string* const value = device.attribute(attribute);
  return value ? *value : std::string();
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return parts;
}

struct PciPlace {
  std::string root;
  std::string address;
};

// As far as it has one. A pool of several cards has their values with commas between them, and no place.
PciPlace place_of(const Device& device) {
  PciPlace place;
  if (std::string address = text_of(device, "pci"); is_pci_address(address))
    place.address = std::move(address);
  std::string path = text_of(device, "pciPath");
  const bool of_function = !path.empty();
  if (path.empty()) path = text_of(device, "syspath");
  if (path.find(',') != std::string::npos) return place;
  const std::vector<std::string_view> parts = parts_of(path);
  const auto root = std::ranges::find_if(parts, [](std::string_view part) {
    return part.starts_with("pci") && part.find(':') != std::string_view::npos;
  });
  if (root == parts.end()) return place;
  place.root = *root;
  if (of_function || !place.address.empty()) return place;
  const auto function = std::ranges::find_if(parts.rbegin(), parts.rend(), is_pci_address);
  const auto below = function - parts.rbegin();
  const bool is_face = below == 2 && std::ranges::find(kFaces, parts[parts.size() - 2]) != kFaces.end();
  if (function != parts.rend() && (below == 0 || is_face)) place.address = *function;
  return place;
}

// A value of the type; nullopt: the text is none.
std::optional<AttributeValue> value_of(const std::string& text, AttributeType type) {
  switch (type) {
    case AttributeType::kText:
    case AttributeType::kWhole:
    case AttributeType::kSlicesOfWhole:
      if (!valid_utf8(text)) return std::nullopt;
      return text;
    case AttributeType::kNumber:
    case AttributeType::kMemory:
    case AttributeType::kMemoryOfWhole:
    case AttributeType::kCountOfWhole:
    case AttributeType::kParts:
      if (const auto number = number_in<std::int64_t>(text)) return *number;
      return std::nullopt;
    case AttributeType::kFlag:
      if (text == "true" || text == "false") return text == "true";
      return std::nullopt;
  }
  return std::nullopt;
}

// The last replicas are taken then, but for those that a scheduler counts.
Inventory without(const Inventory& inventory, const UncountedReplicas& uncounted,
                  const DeviceNames& counted) {
  const auto listed = inventory.devices();
  std::vector<Device> devices(listed.begin(), listed.end());
  for (Device& device : devices) {
    const auto found = uncounted.find(device.id);
    unsigned left = found == uncounted.end() ? 0 : found->second;
    for (unsigned n = device.replicas; n > 0 && left > 0; --n) {
      const auto place = std::ranges::lower_bound(device.taken, n - 1);
      const bool is_taken = place != device.taken.end() && *place == n - 1;
      if (is_taken || counted.contains(device_label(replica_id(device, n - 1)))) continue;
      device.taken.insert(place, n - 1);
      --left;
    }
  }
  return Inventory(std::move(devices));
}

class Advertising {
 public:
  Advertising(const Offer& offer, const DraFeatures& features, const DeviceNames& held)
      : offer_(offer), terms_(*offer.recipe->dra), features_(features), held_(held) {}

  std::vector<PoolDevice> devices() {
    // What all parts of a whole use is known after them; and who may have any device has a part first.
    for (const bool wholes : {false, true}) {
      for (const Device& device : offer_.inventory.devices()) {
        if (is_whole(device) == wholes) add_all(device);
      }
    }
    return std::move(devices_);
  }

  DraFeatures used() const {
    const auto& devices = offer_.inventory.devices();
    return {
        .taints = terms_.on_unhealthy != OnUnhealthy::kWithdraw,
        .sharing = std::ranges::any_of(devices, [this](const Device& each) { return is_shared(each); }),
        .partitions = std::ranges::any_of(devices, [this](const Device& each) { return is_whole(each); })};
  }

  // Of what the devices are parts of.
  std::vector<CounterSet> counters() const {
    std::vector<CounterSet> sets;
    for (const auto& [name, whole] : wholes_) sets.push_back({.name = name, .counters = whole.counters()});
    return sets;
  }

  std::vector<std::string> remarks() const {
    std::vector<std::string> remarks;
    for (const auto& [attribute, left] : left_out_) {
      const std::string others =
          left.devices > 1 ? " and of " + std::to_string(left.devices - 1) + " more" : "";
      remarks.push_back(offer_.resource + ": the attribute " + in_quotes(attribute) + " of " + left.first +
                        others + " is left out: " + left.why);
    }
    return remarks;
  }

 private:
  struct LeftOut {
    std::string first;
    std::string why;
    std::size_t devices = 0;
  };

  // A card that devices are parts of.
  struct Whole {
    std::int64_t memory = 0;
    std::int64_t used = 0;
    std::map<std::string, std::int64_t> counts;  // that the parts have together
    std::map<unsigned, std::int64_t> sharers;    // of a slice of its memory: parts beside each other in it

    // As much of each as there is.
    std::map<std::string, std::int64_t> counters() const {
      std::map<std::string, std::int64_t> all = counts;
      all[std::string(kMemory)] = std::max(memory, used);
      for (const auto& [slice, parts] : sharers)
        all[std::string(kMemorySlice) + std::to_string(slice)] = std::max<std::int64_t>(parts, 1);
      return all;
    }
  };

  void add_all(const Device& device) {
    if (!is_shared(device) || features_.sharing)
      add(device, std::nullopt);
    else
      for (unsigned n = 0; n < device.replicas; ++n) add(device, n);
  }

  bool is_shared(const Device& device) const {
    return device.replicas > 1 || offer_.recipe->units != CardUnits::kNone;
  }

  bool is_whole(const Device& device) const {
    return !typed_value(terms_, device, AttributeType::kParts).empty();
  }

  // replica: it stands for that one alone.
  void add(const Device& device, std::optional<unsigned> replica) {
    PoolDevice entry;
    entry.name = device_label(replica ? replica_id(device, *replica) : device.id);
    const bool is_held = held_.contains(entry.name);
    const std::string_view trouble =
        is_whole(device) ? trouble_of_whole(device) : trouble_of(device, replica);
    if (device.gone && !is_held) return;
    if (!trouble.empty()) {
      const bool withdrawn = terms_.on_unhealthy == OnUnhealthy::kWithdraw || !features_.taints;
      if (withdrawn && !is_held) return;
      if (features_.taints)
        entry.taints.push_back({.key = std::string(kUnhealthyTaint),
                                .value = std::string(trouble),
                                .effect = effect_of(trouble)});
    }
    add_capacity(device, replica, entry);
    if (features_.partitions && !replica && !entry.several_claims) add_counters(device, entry);
    // Without counters it would be given away beside its parts.
    if (is_whole(device) && entry.counters.empty() && !is_held) return;
    add_attributes(device, entry);
    devices_.push_back(std::move(entry));
  }

  // One word; empty: it can be had.
  static std::string_view trouble_of(const Device& device, std::optional<unsigned> replica) {
    if (device.gone) return "gone";
    if (device.drained) return "drained";
    if (!device.trouble.empty()) return "unhealthy";
    if (replica ? !device.healthy_share(*replica) : !device.healthy()) return "held";
    return {};
  }

  // Who would have it would have each of its parts.
  std::string_view trouble_of_whole(const Device& whole) const {
    std::string_view trouble = trouble_of(whole, std::nullopt);
    for (const Device& part : offer_.inventory.devices()) {
      if (trouble.empty() && !part.gone && is_part_of(part, whole)) trouble = trouble_of(part, std::nullopt);
    }
    return trouble;
  }

  // Who drains a device, or has it by another road, evicts nobody.
  TaintEffect effect_of(std::string_view trouble) const {
    const bool evict =
        terms_.on_unhealthy == OnUnhealthy::kEvict && (trouble == "gone" || trouble == "unhealthy");
    return evict ? TaintEffect::kNoExecute : TaintEffect::kNoSchedule;
  }

  void add_capacity(const Device& device, std::optional<unsigned> replica, PoolDevice& entry) const {
    const bool divided = offer_.recipe->units != CardUnits::kNone;
    const CardUnit& unit = terms_.unit;
    const auto memory = static_cast<std::int64_t>(unit.memory);
    if (replica) {
      if (divided && unit.cores > 0) entry.capacity[std::string(kCores)].value = unit.cores;
      if (divided && memory > 0) entry.capacity[std::string(kMemory)].value = memory;
    } else if (device.replicas > 1 || (divided && !unit.whole())) {
      share(device, shared_capacity(offer_, device), entry);
    }
    // Of a device that is shared, a request that does not name a capacity would take all of it.
    const bool whole = !entry.several_claims && !(divided && replica);
    const std::optional<std::int64_t> size = whole ? memory_of(terms_, device) : std::nullopt;
    if (size) entry.capacity[std::string(kMemory)].value = *size;
  }

  // What a container takes is so many units, or one.
  void share(const Device& device, const SharedCapacity& shared, PoolDevice& entry) const {
    const std::int64_t unit = shared.unit;
    // With none left it is tainted, or not there.
    const bool some_left = device.taken.size() < device.replicas;
    const auto taken = static_cast<std::int64_t>(some_left ? device.taken.size() : 0);
    DeviceCapacity capacity{.value = shared.size - taken * unit,
                            .policy = RequestPolicy{.default_amount = unit}};
    const bool one_only = offer_.recipe->one_share_only && offer_.recipe->units == CardUnits::kNone;
    if (one_only || capacity.value < 2 * unit)
      capacity.policy->values = {unit};
    else
      capacity.policy->range = RequestPolicy::Range{.min = unit, .max = std::nullopt, .step = unit};
    entry.several_claims = true;
    entry.capacity[std::string(shared.name)] = std::move(capacity);
  }

  // "4:2" → 4, 5
  std::vector<unsigned> slices_of(const Device& device) const {
    const std::string text = typed_value(terms_, device, AttributeType::kSlicesOfWhole);
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return {};
    const auto first = number_in<unsigned>(text.substr(0, colon), kMostSlices - 1);
    const auto count = number_in<unsigned>(text.substr(colon + 1), kMostSlices);
    if (!first || !count || *first + *count > kMostSlices) return {};
    std::vector<unsigned> slices(*count);
    std::iota(slices.begin(), slices.end(), *first);
    return slices;
  }

  // What a part uses of the whole nothing else can have, and the whole has what all of its parts have. One
  // that is gone uses the place of those that came after it.
  void add_counters(const Device& device, PoolDevice& entry) {
    const std::string set = typed_value(terms_, device, AttributeType::kWhole);
    if (set.empty()) return;
    CounterUse use{.set = device_label(set), .counters = {}};
    if (is_whole(device)) {
      const auto its = wholes_.find(use.set);
      if (its == wholes_.end()) return;
      use.counters = its->second.counters();
      entry.counters = {std::move(use)};
      return;
    }
    const auto memory = memory_of(terms_, device);
    const auto all = bytes_of(typed_value(terms_, device, AttributeType::kMemoryOfWhole));
    if (!memory || !all) return;
    Whole& its = wholes_[use.set];
    its.memory = *all;
    use.counters[std::string(kMemory)] = *memory;
    if (!device.gone) its.used += *memory;
    const std::string name(attribute_of(terms_, AttributeType::kCountOfWhole));
    if (const auto count = number_in<unsigned>(typed_value(terms_, device, AttributeType::kCountOfWhole))) {
      use.counters[name] = *count;
      std::int64_t& together = its.counts[name];
      if (!device.gone) together += *count;
    }
    for (const unsigned slice : slices_of(device)) {
      use.counters[std::string(kMemorySlice) + std::to_string(slice)] = 1;
      std::int64_t& sharers = its.sharers[slice];
      if (!device.gone) ++sharers;
    }
    entry.counters = {std::move(use)};
  }

  void add_attributes(const Device& device, PoolDevice& entry) {
    put(device, entry, kEntryAttribute, offer_.recipe->name.text());
    put(device, entry, kResourceAttribute, offer_.resource);
    put(device, entry, kIdAttribute, device.id);
    for (const DraAttribute& each : terms_.attributes) {
      const auto text = each.value.expand([&](std::string_view name) { return named(device, name); });
      if (text) put(device, entry, each.name, *text, each.type);
    }
    const PciPlace place = place_of(device);
    put(device, entry, kPcieRoot, place.root);
    put(device, entry, kPciBusId, place.address);
    if (device.numa_nodes.size() == 1)
      put(device, entry, kNumaNode, std::to_string(device.numa_nodes[0]), AttributeType::kNumber);
    for (const auto& [name, value] : device.attributes) {
      const auto type = terms_.types.find(name);
      const bool is_capacity = entry.capacity.contains(name);
      if (!is_capacity && name != "pciPath")
        put(device, entry, name, value, type == terms_.types.end() ? AttributeType::kText : type->second);
    }
  }

  std::optional<std::string> named(const Device& device, std::string_view name) const {
    if (name == "resource") return offer_.resource;
    const std::string* const value = device.attribute(name);
    if (!value || value->empty()) return std::nullopt;
    return *value;
  }

  // What came first stays.
  void put(const Device& device, PoolDevice& entry, std::string_view name, const std::string& text,
           AttributeType type = AttributeType::kText) {
    if (text.empty() || entry.attributes.contains(std::string(name))) return;
    std::string why = attribute_name_trouble(name);
    const std::optional<AttributeValue> value = value_of(text, type);
    if (why.empty()) why = value ? attribute_value_trouble(*value) : "its value is none of its type";
    if (why.empty() && entry.attributes.size() + entry.capacity.size() >= kMostAttributesAndCapacities)
      why = "a device has at most " + std::to_string(kMostAttributesAndCapacities) +
            " attributes and capacities";
    if (why.empty()) {
      entry.attributes[std::string(name)] = *value;
      return;
    }
    LeftOut& left = left_out_[std::string(name)];
    if (left.devices++ > 0) return;
    left.first = device.id;
    left.why = why;
  }

  const Offer& offer_;
  const DraTerms& terms_;
  const DraFeatures& features_;
  const DeviceNames& held_;
  std::vector<PoolDevice> devices_;
  std::map<std::string, LeftOut> left_out_;
  std::map<std::string, Whole> wholes_;  // by the name of their counters
};

}  // namespace

AdvertisedPool advertised_pool(const Offer& offer, std::string_view node, const DraFeatures& features,
                               const DeviceNames& held, const UncountedReplicas& uncounted) {
  if (!uncounted.empty()) {
    Offer rest = offer;
    rest.inventory = without(offer.inventory, uncounted, features.sharing ? DeviceNames() : held);
    return advertised_pool(rest, node, features, held);
  }
  Advertising advertising(offer, features, held);
  AdvertisedPool advertised;
  advertised.pool.name = pool_name(node, offer.resource);
  advertised.pool.devices = advertising.devices();
  advertised.pool.counters = advertising.counters();
  advertised.remarks = advertising.remarks();
  return advertised;
}

DraFeatures features_used(const Offer& offer) {
  return Advertising(offer, {}, {}).used();
}

}  // namespace plughost
