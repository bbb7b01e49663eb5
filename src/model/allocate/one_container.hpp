#pragma once
// Allocations of several resources to one container: which cards the container already has and where they
// are, and how many shares of a device the container may have.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Identifies a card independently of its ids. Unknown members are empty.
struct CardName {
  std::string uuid;
  std::string pci;    // PCI address
  std::string index;  // with the vendor in front
  std::string id;     // the device's id in its resource, for messages
};

CardName card_of(const Device& device);
// Compares the UUIDs if both cards have one, or else the PCI addresses, or else the indexes.
bool same_card(const CardName& one, const CardName& other);
bool same_cards(std::span<const CardName> some, std::span<const CardName> others);
// Returns the UUIDs of the cards, or else their PCI addresses or ids: "GPU-1b2c, GPU-3d4e".
std::string names_of(std::span<const CardName> cards);

// The cards that the resources joined by `sameCard` have allocated to the container being admitted. An
// Allocate does not identify its container, but the kubelet admits one container at a time and requests each
// resource once. So a repeated request, or one after kSameContainer, begins a new container. Thread-safe.
class GivenCards {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSameContainer{1000};

  // Returns the cards that the other resources have allocated to the present container.
  std::vector<CardName> before(const std::string& resource, Clock::time_point now) const;
  // Records the resource's cards, and returns an empty list. If the other resources have allocated different
  // cards, returns those cards, and forgets the container, because its pod is rejected.
  std::vector<CardName> give(const std::string& resource, const std::vector<CardName>& cards,
                             Clock::time_point now);

 private:
  bool goes_on(const std::string& resource, Clock::time_point now) const;

  mutable std::mutex mutex_;
  std::set<std::string> givers_;  // resources that have allocated to the last container
  std::vector<CardName> cards_;
  Clock::time_point last_ = Clock::time_point::min();
};

// Returns the number of each spec's `sameCard` group, by the text of the spec's name. Specs that are not
// joined by `sameCard` are left out.
std::map<std::string, std::size_t> same_card_groups(std::span<const AllocationSpec* const> specs);

// The latest value that concerns the container being admitted, judged by timing: the kubelet admits one
// container at a time, and requests its resources one right after the other. Thread-safe.
template <typename Value>
class JustNow {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSameContainer{1000};

  void record(Value value, Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    when_ = now;
  }
  // Returns the value; a default value if none was recorded within kSameContainer.
  Value just_now(Clock::time_point now) const {
    const std::lock_guard lock(mutex_);
    return now <= when_ + kSameContainer ? value_ : Value();
  }

 private:
  mutable std::mutex mutex_;
  Value value_;
  Clock::time_point when_ = Clock::time_point::min();
};

// The PCI paths of the devices that a resource has allocated. A path goes from the host bridge to the device:
// "pci0000:3a/0000:3a:00.0/0000:3b:00.0".
using LastGiven = JustNow<std::vector<std::string>>;

// The devices of the resource that another resource should be near to.
struct Neighbours {
  std::vector<std::string> healthy;  // PCI paths of Healthy devices, sorted
  std::shared_ptr<const LastGiven> given;

  // Returns the paths of the devices just allocated to the same container, or else of all Healthy devices.
  std::vector<std::string> paths(LastGiven::Clock::time_point now) const;
  bool operator==(const Neighbours&) const = default;
};

// Returns how near a device is to the devices at `others` in the tree of PCI bridges; larger is nearer. The
// number of bridges in common with the nearest of them decides first, then the number of devices at that
// distance. 0: no host bridge in common, or unknown.
unsigned nearness(std::string_view path, std::span<const std::string> others);

// Returns true if a container may have `ids` ids that belong to `devices` devices.
bool fulfils(SharesOf terms, std::size_t devices, std::size_t ids);
bool fulfils(SharesOf terms, const Inventory& inventory, std::span<const std::string> ids);

// The free ids of an entry's resource, as free_shares() texts. Only the kubelet knows the free ids, and sends
// them with GetPreferredAllocation, a moment before the Allocate.
using FreeShares = JustNow<std::map<std::string, std::string>>;

// Returns "3 on GPU-1b2c, 5 on GPU-3d4e": the cards that have free ids, in the inventory's order. Pure.
std::string free_shares(const Inventory& inventory, std::span<const std::string> free);

}  // namespace plughost
