#pragma once
// From what a resource offers to the pool that a scheduler chooses from. Pure functions, thread-safe.
//
// A device is called device_label() of its id. With replicas it is one device that several claims may share,
// by a capacity: "shares", or the "memory" or the "cores" of a card that is divided. Where the API server
// knows no such devices each replica is one of its own, device_label() of its replica_id().

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/offer.hpp"
#include "dra/device_shares.hpp"
#include "dra/pool.hpp"

namespace plughost {

// Every device has these, and what its kind and its entry say beside.
inline constexpr std::string_view kEntryAttribute = "entry";        // the entry's name, as it is written
inline constexpr std::string_view kResourceAttribute = "resource";  // "example.com/camera"
inline constexpr std::string_view kIdAttribute = "id";
// Where it is in the machine, as other drivers say it, too.
inline constexpr std::string_view kPcieRoot = "resource.kubernetes.io/pcieRoot";  // "pci0000:3a"
inline constexpr std::string_view kPciBusId = "resource.kubernetes.io/pciBusID";  // "0000:3b:00.0"
inline constexpr std::string_view kNumaNode = "resource.kubernetes.io/numaNode";  // a number
inline constexpr std::string_view kUnhealthyTaint = "plughost.io/unhealthy";

struct AdvertisedPool {
  Pool pool;
  std::vector<std::string> remarks;  // what was left out, because no attribute can hold it
  bool operator==(const AdvertisedPool&) const = default;
};

using DeviceNames = std::set<std::string, std::less<>>;

// Of an offer whose recipe has terms of DRA. held: those of the pool's devices that claims hold, which stay
// there whatever becomes of them. uncounted: nobody is to be given these.
AdvertisedPool advertised_pool(const Offer& offer, std::string_view node, const DraFeatures& features,
                               const DeviceNames& held = {}, const UncountedReplicas& uncounted = {});

// What such an offer's pool makes use of: of the others nobody notices whether the API server has them.
DraFeatures features_used(const Offer& offer);

}  // namespace plughost
