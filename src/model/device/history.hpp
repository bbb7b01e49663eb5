#pragma once
// What is known of a resource's devices from one list to the next: who is gone, who flaps, and since when
// they are as they are. Values, which are told the time; not thread-safe.

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"

namespace plughost {

// Since when devices that a resource had are gone.
class Remembered {
 public:
  using Clock = std::chrono::steady_clock;
  // When a device that is gone since then is due to be forgotten; Clock::time_point::max(): never.
  static Clock::time_point forget_at(Clock::time_point since, std::chrono::seconds forget_after);
  // Says of a device that has been due to be forgotten since then whether it stays nevertheless: a pod may
  // hold it, and the kubelet would show it as Healthy there. Not set: none stays.
  using Stays = std::function<bool(const Device& device, Clock::time_point due)>;

  // scanned, and the devices of the list before that are gone: Unhealthy until forget_after has passed since
  // they were first missed. before: what the last merge returned, or nothing; sorted by id.
  std::vector<Device> merge(std::span<const Device> before, std::vector<Device> scanned,
                            Clock::time_point now, std::chrono::seconds forget_after,
                            const Stays& stays = {});
  // When a device will be due to be forgotten, if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_forgetting() const { return next_; }

 private:
  std::map<std::string, Clock::time_point> gone_since_;  // by id
  Clock::time_point next_ = Clock::time_point::max();
};

// Devices that flap: a loose cable must not make the kubelet believe in a device ten times a second.
// The recent changes of one resource's devices between Healthy and not; one that is not listed is not.
class Damping {
 public:
  using Clock = std::chrono::steady_clock;
  // More changes than this within the window, and the device flaps until it has been calm for so long.
  static constexpr std::size_t kMostChanges = 5;
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr std::chrono::seconds kCalm{30};

  // Does a pod hold the device? Its changes are its holder's then, which may reset it at each start.
  using Held = std::function<bool(const std::string& id)>;

  // Makes those of the devices that flap Unhealthy; an error of their own stays. before: what the last call
  // left, or nothing. Both are sorted by id.
  void apply(std::span<const Device> before, std::vector<Device>& devices, Clock::time_point now,
             const Held& held = {});
  // When apply would let a device go that flaps, if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_release() const { return next_; }

 private:
  static constexpr Clock::time_point kNever{};
  struct Track {
    bool healthy = false;  // without damping
    bool flaps = false;
    std::array<Clock::time_point, kMostChanges + 1> changes{};  // the newest last; kNever: none
    bool calm() const { return changes.back() == kNever; }
    bool over(Clock::time_point now) const { return changes.back() + (flaps ? kCalm : kWindow) <= now; }
  };
  void record(const std::string& id, bool was_healthy, bool is_healthy, Clock::time_point now,
              const Held& held);

  std::map<std::string, Track> tracks_;  // by id; of the devices that have changed lately
  Clock::time_point next_ = Clock::time_point::max();
};

// Since when the devices of one resource are as well as they are.
class HealthTimes {
 public:
  using Clock = std::chrono::system_clock;

  // The list was before and is after, since now. Both are sorted by id.
  void record(std::span<const Device> before, std::span<const Device> after, Clock::time_point now);
  Clock::time_point since(std::string_view id) const;

 private:
  // Most devices are as they were when the resource came: only the others are worth memory.
  Clock::time_point first_{};
  std::map<std::string, Clock::time_point, std::less<>> changed_;
};

// Since when the devices of one resource are Unhealthy, and who has been told of it.
// A device's bad spell begins when it is listed as Unhealthy, whatever for, and ends when it is Healthy again
// or not listed any more. What is drained is out of service on purpose: that is none, and ends one.
// Nor is it one that somebody holds the device.
class BadSpells {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  // These are the devices now.
  void record(std::span<const Device> devices, Clock::time_point now);
  // How long a spell is to last before it is due; nullopt: nobody wants to hear of that device.
  using Patience = std::function<std::optional<Clock::duration>(const std::string& id)>;

  // The ids of those whose spell is due, each once in a spell.
  std::vector<std::string> take_due(Clock::time_point now, const Patience& after);
  // When there will be one; kNever: not before something happens.
  Clock::time_point next_due(const Patience& after) const;
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
