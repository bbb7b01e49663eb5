#pragma once
// Shares of devices, and units of cards, of which a container gets several: whether it may have them, and how
// many are free.

#include <chrono>
#include <mutex>
#include <span>
#include <string>

#include "device/inventory.hpp"
#include "device/recipe.hpp"

namespace plughost {

// Are so many ids, of so many devices, what a container may have?
bool fulfils(SharesOf terms, std::size_t devices, std::size_t ids);
bool fulfils(SharesOf terms, const Inventory& inventory, std::span<const std::string> ids);

// What is free, of any resource of an entry, as the kubelet has said last. It alone knows, and says it when
// it asks which ids a container should get: a moment before the Allocate. Thread-safe.
class FreeShares {
 public:
  using Clock = std::chrono::steady_clock;
  // Between its question and the Allocate that follows.
  static constexpr std::chrono::milliseconds kSameContainer{1000};

  // cards: as free_shares() has them.
  void note(std::string resource, std::string cards, Clock::time_point now);
  // Empty: it has not just been said.
  std::string just_now(const std::string& resource, Clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  std::string resource_;
  std::string cards_;
  Clock::time_point when_ = Clock::time_point::min();
};

// "3 on GPU-1b2c, 5 on GPU-3d4e": of the cards that have free ids, in the inventory's order. Pure.
std::string free_shares(const Inventory& inventory, std::span<const std::string> free);

}  // namespace plughost
