#include "dra/device_shares.hpp"

#include <algorithm>

#include "device/cdi.hpp"
#include "device/id.hpp"
#include "device/quantity.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"
#include "dra/typed_values.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostHolders = 3;

std::string amount_text(std::int64_t amount) {
  return quantity_text(static_cast<std::uint64_t>(amount));
}

// Is it a share of the device, and not the device?
bool is_named_share(const Device& device, const AllocatedDevice& allocated) {
  return allocated.device != device_label(device.id);
}

// Is that what its pool calls it now?
bool is_shown(const Device& device, const std::string& name, bool sharing) {
  if (sharing) return name == device_label(device.id);
  for (unsigned n = 0; n < device.replicas; ++n)
    if (name == device_label(replica_id(device, n))) return true;
  return false;
}

}  // namespace

SharedCapacity shared_capacity(const Offer& offer, const Device& device) {
  const SharedCapacity shares{.size = device.replicas};
  if (offer.recipe->units == CardUnits::kNone || !offer.recipe->dra) return shares;
  const DraTerms& terms = *offer.recipe->dra;
  if (terms.unit.cores > 0) return {.name = "cores", .size = kCoresOfACard, .unit = terms.unit.cores};
  const auto unit = static_cast<std::int64_t>(terms.unit.memory);
  if (unit == 0) return shares;
  return {.name = "memory", .size = memory_of(terms, device).value_or(unit * device.replicas), .unit = unit};
}

std::int64_t amount_taken(const Offer& offer, const Device& device, const AllocatedDevice& allocated) {
  const SharedCapacity capacity = shared_capacity(offer, device);
  if (is_named_share(device, allocated)) return capacity.unit;
  const auto consumed = allocated.consumed.find(std::string(capacity.name));
  if (consumed == allocated.consumed.end())
    return offer.recipe->units == CardUnits::kNone ? capacity.unit : capacity.size;
  return consumed->second > 0 ? consumed->second : capacity.unit;
}

bool is_claimed(const ClaimedDevice& claimed, const Offer& offer, const Device& device) {
  return !claimed.allocated.admin_access && !claimed.cdi.empty() &&
         claimed.cdi.front() == cdi_qualified_name(offer.resource, device.id);
}

UncountedReplicas replicas_uncounted(const Offer& offer, std::span<const PreparedClaim> claims,
                                     bool sharing) {
  std::map<std::string_view, std::vector<const AllocatedDevice*>> held;  // by CDI name
  for (const PreparedClaim& claim : claims) {
    for (const ClaimedDevice& each : claim.devices) {
      if (!each.allocated.admin_access && !each.cdi.empty())
        held[each.cdi.front()].push_back(&each.allocated);
    }
  }
  UncountedReplicas uncounted;
  if (held.empty()) return uncounted;
  for (const Device& device : offer.inventory.devices()) {
    const auto found = held.find(cdi_qualified_name(offer.resource, device.id));
    if (found == held.end()) continue;
    const SharedCapacity capacity = shared_capacity(offer, device);
    std::int64_t left = capacity.size;
    for (const AllocatedDevice* const allocated : found->second) {
      if (!is_shown(device, allocated->device, sharing))
        left -= std::min(left, amount_taken(offer, device, *allocated));
    }
    const std::int64_t replicas = (capacity.size - left + capacity.unit - 1) / capacity.unit;
    if (replicas > 0)
      uncounted[device.id] = static_cast<unsigned>(std::min<std::int64_t>(replicas, device.replicas));
  }
  return uncounted;
}

DeviceShares::DeviceShares(const Offer& offer, const Device& device,
                           const std::vector<const PreparedClaim*>& others)
    : offer_(offer), device_(device), capacity_(shared_capacity(offer, device)), left_(capacity_.size) {
  const auto take = [&](std::int64_t amount) { left_ -= std::min(left_, amount); };
  take(static_cast<std::int64_t>(device.taken.size()) * capacity_.unit);
  for (const PreparedClaim* const other : others) {
    Holder holder{.claim = other};
    for (const ClaimedDevice& claimed : other->devices) {
      if (!is_claimed(claimed, offer, device)) continue;
      const std::int64_t amount = amount_taken(offer, device, claimed.allocated);
      take(amount);
      holder.amount += std::min(amount, capacity_.size - holder.amount);
      if (is_named_share(device, claimed.allocated)) holder.shares.insert(claimed.allocated.device);
    }
    if (holder.amount > 0) holders_.push_back(std::move(holder));
  }
}

void DeviceShares::add(const AllocatedDevice& allocated) {
  const std::int64_t amount = amount_taken(offer_, device_, allocated);
  if (own_ <= capacity_.size) own_ += std::min(amount, capacity_.size + 1 - own_);
  if (is_named_share(device_, allocated)) shares_.insert(allocated.device);
}

std::string DeviceShares::trouble() const {
  const std::string device = "device " + in_quotes(device_.id) + " of " + offer_.resource;
  const auto held_by = [&](const Holder& holder) {
    return device + " is still held by " + holder.claim->ref.text() + ", which has not been given back";
  };
  for (const Holder& holder : holders_) {
    const auto is_own = [&](const std::string& share) { return shares_.contains(share); };
    if (std::ranges::any_of(holder.shares, is_own)) return held_by(holder);
  }
  if (own_ <= left_) return {};
  if (holders_.empty()) return device + " is in use: " + device_.taken_by;
  if (capacity_.size == capacity_.unit) return held_by(holders_.front());
  return device + ' ' + full_text();
}

std::string DeviceShares::full_text() const {
  std::string text = "has no room for " + amount_text(own_) + " of its " + amount_text(capacity_.size) + ' ' +
                     std::string(capacity_.name) + ": ";
  for (std::size_t i = 0; i < std::min(holders_.size(), kMostHolders); ++i)
    text +=
        (i == 0 ? "" : ", ") + holders_[i].claim->ref.text() + " holds " + amount_text(holders_[i].amount);
  if (holders_.size() > kMostHolders)
    text += " and " + std::to_string(holders_.size() - kMostHolders) + " more hold some";
  if (!device_.taken.empty())
    text += ", and " + std::to_string(device_.taken.size()) + " of its " + std::to_string(device_.replicas) +
            " replicas are in use: " + device_.taken_by;
  return text +
         "; a scheduler that did not know of them has allocated it once more: delete a pod of one of them, "
         "or this one together with its claim, which is allocated anew then";
}

}  // namespace plughost
