#pragma once
// How many units of each card are free. The kubelet alone knows, and says it when it asks which ones a
// container should get: a moment before the Allocate.

#include <chrono>
#include <mutex>
#include <span>
#include <string>

#include "device/inventory.hpp"

namespace plughost {

// What the kubelet has said last, of any resource of an entry. Thread-safe.
class FreeUnits {
 public:
  using Clock = std::chrono::steady_clock;
  // Between its question and the Allocate that follows.
  static constexpr std::chrono::milliseconds kSameContainer{1000};

  // cards: as free_units() has them.
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
std::string free_units(const Inventory& inventory, std::span<const std::string> free);

}  // namespace plughost
