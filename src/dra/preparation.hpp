#pragma once
// From a claim to what its containers get. Pure functions of values, thread-safe.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "device/allocation.hpp"
#include "device/offer.hpp"
#include "dra/claim.hpp"
#include "dra/claim_file.hpp"

namespace plughost {

using OfferPools = std::map<std::string, std::shared_ptr<const Offer>>;  // by the pool's name

// A device as its pool names it.
struct AdvertisedDevice {
  const Device* device = nullptr;
  std::optional<unsigned> replica;  // where each of its replicas is a device of its own: which one
};
// nullopt: the inventory has no such device.
std::optional<AdvertisedDevice> find_advertised(const Inventory& inventory, std::string_view name);

// How many of the device's replicas the claim has: 1 of a device without, units of a card that is divided.
unsigned replicas_taken(const Offer& offer, const AdvertisedDevice& advertised,
                        const AllocatedDevice& allocated);

// What is known while a claim is prepared.
struct ClaimSurroundings {
  std::string_view driver;
  const OfferPools& pools;
  const std::vector<const PreparedClaim*>& others;  // claims that have devices; the one itself does not count
};

struct ReadyClaim {
  PreparedClaim claim;
  std::map<std::string, CdiEdits> edits;  // by request: what its file adds to the devices' specifications
};
// It may be otherwise in a moment. A sentence that can end up in a pod's events.
struct ClaimWait {
  std::string why;
};
// It will not be otherwise.
struct ClaimRefusal {
  std::string why;
};

// asked: as the kubelet did; the claim may be another one by now.
std::variant<ReadyClaim, ClaimWait, ClaimRefusal> prepare_claim(const ClaimRef& asked, const Claim& claim,
                                                                const ClaimSurroundings& around);

// All that the containers of one request get: what the devices' own specifications bring and what the claim's
// file adds. nullopt: no offer has its devices any more.
std::optional<CdiEdits> request_edits(const ReadyClaim& ready, std::string_view request,
                                      const OfferPools& pools);

}  // namespace plughost
