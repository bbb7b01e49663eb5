#pragma once
// How much of a device claims have, and whether one more fits. Values; not thread-safe.
//
// A device that several claims may share is one device of its pool, with a capacity; where the API server
// knows no such devices each share is a device of its own. Either becomes the other under claims when a
// feature gate is switched, and a scheduler may hear of it late. So a claim counts whatever the device was
// called when it was allocated.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/offer.hpp"
#include "dra/claim.hpp"
#include "dra/claim_file.hpp"

namespace plughost {

// What claims divide a device by.
struct SharedCapacity {
  std::string_view name = "shares";  // or "memory", or "cores"
  std::int64_t size = 1;             // whoever has what
  std::int64_t unit = 1;             // of one replica
  bool operator==(const SharedCapacity&) const = default;
};
SharedCapacity shared_capacity(const Offer& offer, const Device& device);

// How much of it that is: what the claim consumes, or one replica of a device that is named as one. Who says
// nothing has one share, or all of a card that is divided.
std::int64_t amount_taken(const Offer& offer, const Device& device, const AllocatedDevice& allocated);

// Has a claim this device, or a share of it? By its CDI name, which is the same under all names in pools.
bool is_claimed(const ClaimedDevice& claimed, const Offer& offer, const Device& device);

// Replicas that claims have under names that the pool does not show now, so that a scheduler does not count
// them: by the device's id, as many as it has at most. sharing: are devices shown with a capacity?
using UncountedReplicas = std::map<std::string, unsigned>;
UncountedReplicas replicas_uncounted(const Offer& offer, std::span<const PreparedClaim> claims, bool sharing);

// Of one device, and one claim that is to be prepared.
class DeviceShares {
 public:
  // All outlive it. others: claims that are prepared, this one not among them.
  DeviceShares(const Offer& offer, const Device& device, const std::vector<const PreparedClaim*>& others);

  // The claim has been allocated this, too.
  void add(const AllocatedDevice& allocated);

  // Is what the claim was allocated more than there is, whoever has what?
  bool never_fits() const { return own_ > capacity_.size; }
  // Why it does not fit beside what others have, as a sentence that begins with the device; empty: it does.
  std::string trouble() const;

 private:
  struct Holder {
    const PreparedClaim* claim;
    std::int64_t amount = 0;
    std::set<std::string> shares = {};  // by their names
  };
  std::string full_text() const;

  const Offer& offer_;
  const Device& device_;
  const SharedCapacity capacity_;
  std::vector<Holder> holders_;
  std::int64_t left_;
  std::int64_t own_ = 0;          // one more than there is at most
  std::set<std::string> shares_;  // of its own, by their names
};

}  // namespace plughost
