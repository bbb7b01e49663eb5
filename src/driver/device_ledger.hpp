#pragma once
// Whose each device of the machine is, where the kubelet's lists and DRA's pools might both give it away. A
// value; not thread-safe.

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/inventory.hpp"
#include "dra/claim_file.hpp"
#include "kubelet/holdings.hpp"

namespace plughost {

// Devices that somebody has by another road than the list that they are in.
class OccupiedDevices {
 public:
  // who: "held by claim default/camera".
  void add(const std::string& resource, const std::string& device, const std::string& who);

  // Takes all shares of the resource's devices that are occupied.
  void apply(const std::string& resource, std::vector<Device>& devices) const;
  bool concerns(const std::string& resource) const { return by_id_.contains(resource); }
  bool operator==(const OccupiedDevices&) const = default;

 private:
  std::map<std::string, std::map<std::string, std::string>> by_id_;  // by resource; none is empty
};

// "held by claim default/camera (pod default/a)"
std::string holder_text(const PreparedClaim& claim);

// What the claims hold, as the kubelet would tell it of a device plugin's: by the ids of the lists. lists: by
// resource.
Holdings holdings_of(std::span<const PreparedClaim* const> claims,
                     const std::map<std::string, Inventory>& lists);

class DeviceLedger {
 public:
  // What a resource lists.
  struct List {
    std::string resource;
    bool dra = false;   // in a pool
    std::string where;  // the entry's place in the configuration
    std::span<const Device> devices;
  };

  // Of two that list one device, and not both to the kubelet, it is whose it was; at first the one that
  // stands before the other in the configuration. So lists are in the order of their places there. What a
  // claim holds is its pool's before anybody's, and no list of the kubelet's has it; nor has a pool what it
  // holds by a driver that has been left, or of a pool that is called otherwise now.
  OccupiedDevices look(std::span<const List> lists, std::span<const PreparedClaim> claims,
                       std::span<const PreparedClaim> left = {});

 private:
  // By resource.
  using Owners = std::map<std::string, std::set<std::string>>;
  void take_claimed(std::span<const List> lists, std::span<const PreparedClaim> claims, bool left,
                    OccupiedDevices& occupied);

  Owners owners_;  // as it was found last
};

}  // namespace plughost
