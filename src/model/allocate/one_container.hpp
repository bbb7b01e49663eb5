#pragma once
// Several resources of one container: which card a device is, which ones it has got already, and where they
// are; and how many shares of a device it may have.

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

// What tells a card from others, whatever its ids are in a resource. What is not known is empty.
struct CardName {
  std::string uuid;
  std::string pci;    // its address
  std::string index;  // with the vendor before it
  std::string id;     // for people: what the device is called in its resource
};

CardName card_of(const Device& device);
// By the first of UUID, PCI address and index that both have.
bool same_card(const CardName& one, const CardName& other);
// Is each card of either among the other's?
bool same_cards(std::span<const CardName> some, std::span<const CardName> others);
// "GPU-1b2c, GPU-3d4e": by their UUIDs, else by what else is known.
std::string names_of(std::span<const CardName> cards);

// The cards of the container that is being admitted, as the resources that are joined by `sameCard` have
// given them. Nobody tells a device plugin which container an Allocate is for: the kubelet admits one at a
// time, and asks each resource once. So a container is another when a resource is asked once more, or after a
// while. Thread-safe.
class GivenCards {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSameContainer{1000};

  // What the other resources have given the container that asks this one now; empty: nothing.
  std::vector<CardName> before(const std::string& resource, Clock::time_point now) const;
  // The resource gives these. Not if the others gave the container different ones: those are returned then,
  // and the container, whose pod is rejected, is forgotten.
  std::vector<CardName> give(const std::string& resource, const std::vector<CardName>& cards,
                             Clock::time_point now);

 private:
  bool goes_on(const std::string& resource, Clock::time_point now) const;

  mutable std::mutex mutex_;
  std::set<std::string> givers_;  // to the container that came last
  std::vector<CardName> cards_;
  Clock::time_point last_ = Clock::time_point::min();
};

// The specs that are joined by `sameCard`: those of one group have the same number. By the text of
// their names; those that are joined with none are left out.
std::map<std::string, std::size_t> same_card_groups(std::span<const AllocationSpec* const> specs);

// What was last said that concerns the container which is being admitted by all appearances: the kubelet
// admits one at a time, and asks for its resources one right after the other. Thread-safe.
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
  // Empty: nothing was.
  Value just_now(Clock::time_point now) const {
    const std::lock_guard lock(mutex_);
    return now <= when_ + kSameContainer ? value_ : Value();
  }

 private:
  mutable std::mutex mutex_;
  Value value_;
  Clock::time_point when_ = Clock::time_point::min();
};

// PCI paths of the devices that a resource has given. Such a path is what is above a device and itself, from
// the host bridge on: "pci0000:3a/0000:3a:00.0/0000:3b:00.0".
using LastGiven = JustNow<std::vector<std::string>>;

// The devices of another resource, which those of a resource should be near.
struct Neighbours {
  std::vector<std::string> healthy;  // PCI paths of those that are Healthy, sorted
  std::shared_ptr<const LastGiven> given;

  // The paths to be near: of what the same container has got just now, else of all that are Healthy.
  std::vector<std::string> paths(LastGiven::Clock::time_point now) const;
  bool operator==(const Neighbours&) const = default;
};

// How near a device is to others in the machine's tree of PCI bridges. The larger, the nearer: more bridges
// in common with the nearest of the others come first, then more others that are as near. 0: not even a host
// bridge in common, or it is not known.
unsigned nearness(std::string_view path, std::span<const std::string> others);

// Are so many ids, of so many devices, what a container may have?
bool fulfils(SharesOf terms, std::size_t devices, std::size_t ids);
bool fulfils(SharesOf terms, const Inventory& inventory, std::span<const std::string> ids);

// What is free of a resource of an entry, as free_shares() has it: the kubelet alone knows, and says it when
// it asks which ids a container should get, a moment before the Allocate.
using FreeShares = JustNow<std::map<std::string, std::string>>;

// "3 on GPU-1b2c, 5 on GPU-3d4e": of the cards that have free ids, in the inventory's order. Pure.
std::string free_shares(const Inventory& inventory, std::span<const std::string> free);

}  // namespace plughost
