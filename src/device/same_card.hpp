#pragma once
// Several resources over one card: which card a device is, and which one a container has got already.

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/recipe.hpp"

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

// Which of the recipes are joined by `sameCard`: those of one group have the same number. By the text of
// their names; those that are joined with none are left out.
std::map<std::string, std::size_t> same_card_groups(std::span<const Recipe* const> recipes);

}  // namespace plughost
