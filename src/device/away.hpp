#pragma once
// The devices whose network interfaces containers have: they have left the machine's list, and are
// nevertheless as they were. A value; not thread-safe.

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

class AwayDevices {
 public:
  using Clock = std::chrono::steady_clock;
  // An interface comes back a moment after its holder's end, when the kernel has taken down the network
  // namespace.
  static constexpr std::chrono::seconds kReturn{5};

  enum class Held { kYes, kNo, kNotKnownYet };
  // Does anybody hold the device, which has been missing since then?
  using IsHeld = std::function<Held(const Device& device, Clock::time_point since)>;

  // scanned, and of the list before those that are missing there because somebody holds them: as they were,
  // and away. So they stay until it is known that nobody does, and for kReturn if somebody did. noted: what
  // another process has listed, if this one has listed nothing yet. One that was scanned without its
  // interface is marked as away, and is missing, too; if nobody holds it, it is Unhealthy. before: sorted by
  // id.
  std::vector<Device> merge(std::span<const Device> before, std::span<const Device> noted,
                            std::vector<Device> scanned, Clock::time_point now, const IsHeld& is_held);
  // When the list will be another one if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_change() const { return next_; }
  // Is there any of which it matters who holds it?
  bool any() const;

 private:
  struct Missing {
    Clock::time_point since{};
    bool was_held = false;
    Clock::time_point until = Clock::time_point::max();  // its holder has ended
    bool over = false;                                   // nobody has it
  };
  bool is_away(const Device& device, Missing& missing, Clock::time_point now, const IsHeld& is_held);

  std::map<std::string, Missing> missing_;  // by id
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace plughost
