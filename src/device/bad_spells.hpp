#pragma once
// Since when the devices of one resource are Unhealthy, and who has been told of it. A value, which is told
// the time; not thread-safe.

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// A device's bad spell begins when it is listed as Unhealthy, whatever for, and ends when it is Healthy again
// or not listed any more. What is drained is out of service on purpose: that is none, and ends one.
// Nor is it one that somebody holds the device.
class BadSpells {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  // These are the devices now.
  void note(std::span<const Device> devices, Clock::time_point now);
  // The ids of those whose spell has lasted for so long, each once in a spell.
  std::vector<std::string> take_due(Clock::time_point now, Clock::duration after);
  // When there will be one; kNever: not before something happens.
  Clock::time_point next_due(Clock::duration after) const;
  // nullopt: it has none.
  std::optional<Clock::time_point> since(std::string_view id) const;

 private:
  struct Spell {
    Clock::time_point since;
    bool told = false;
  };
  std::map<std::string, Spell, std::less<>> spells_;  // by id
};

}  // namespace plughost
