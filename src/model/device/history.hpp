#pragma once
// The history of a resource's devices: which are gone, which flap, and since when they are healthy or not.
// Values: the time is passed in. Not thread-safe.

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

// Remembers since when devices are gone.
class Remembered {
 public:
  using Clock = std::chrono::steady_clock;
  // Returns when a device that is gone since then is due to be forgotten; Clock::time_point::max(): never.
  static Clock::time_point forget_at(Clock::time_point since, std::chrono::seconds forget_after);
  // Returns true if a device that is due to be forgotten stays listed, for example because a pod holds it:
  // the kubelet reports an unlisted device as Healthy in the pod's status. If not set, no device stays.
  using Stays = std::function<bool(const Device& device, Clock::time_point due)>;

  // Returns `scanned` plus the devices of the previous list that are gone, Unhealthy until forget_after has
  // passed since they were first missed. `before` is the previous result, sorted by id.
  std::vector<Device> merge(std::span<const Device> before, std::vector<Device> scanned,
                            Clock::time_point now, std::chrono::seconds forget_after,
                            const Stays& stays = {});
  // Returns when the next device is due to be forgotten; Clock::time_point::max(): never.
  Clock::time_point next_forgetting() const { return next_; }

 private:
  std::map<std::string, Clock::time_point> gone_since_;  // by id
  Clock::time_point next_ = Clock::time_point::max();
};

// Holds back flapping devices: a loose cable must not change the kubelet's view ten times a second. Tracks
// the recent health changes of one resource's devices; an unlisted device counts as Unhealthy.
class Damping {
 public:
  using Clock = std::chrono::steady_clock;
  // A device with more changes than kMostChanges within kWindow flaps, until it has been calm for kCalm.
  static constexpr std::size_t kMostChanges = 5;
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr std::chrono::seconds kCalm{30};

  // Returns true if a pod holds the device. Changes of a held device do not count, because the pod may cause
  // them, for example by a reset at each start.
  using Held = std::function<bool(const std::string& id)>;

  // Makes flapping devices Unhealthy; a device with an error of its own keeps its error. `before` is the
  // previous result. Both lists are sorted by id.
  void apply(std::span<const Device> before, std::vector<Device>& devices, Clock::time_point now,
             const Held& held = {});
  // Returns when a flapping device is released if nothing else happens; Clock::time_point::max(): never.
  Clock::time_point next_release() const { return next_; }
  // Returns the last change of each flapping device, by id.
  std::map<std::string, Clock::time_point> flapping() const;
  // Makes the device flap since that last change, as another process has seen. Call it before apply().
  void inherit(const std::string& id, Clock::time_point changed);

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

  std::map<std::string, Track> tracks_;  // by id: devices that have changed recently
  Clock::time_point next_ = Clock::time_point::max();
};

// Records since when each device of one resource has had its present health.
class HealthTimes {
 public:
  using Clock = std::chrono::system_clock;

  // Records that the list changed from `before` to `after` at `now`. Both are sorted by id.
  void record(std::span<const Device> before, std::span<const Device> after, Clock::time_point now);
  Clock::time_point since(std::string_view id) const;

 private:
  // Most devices have not changed since the resource appeared: only devices that have changed need memory.
  Clock::time_point first_{};
  std::map<std::string, Clock::time_point, std::less<>> changed_;
};

// Records since when devices of one resource are Unhealthy, and which of these spells were reported. A spell
// begins when a device is listed with an error, and ends when the device has none or is not listed. A drained
// device has no spell, because it is out of service on purpose. A holder alone causes no spell.
class BadSpells {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  void record(std::span<const Device> devices, Clock::time_point now);
  // Returns how long a spell must last to be due; nullopt if the device's spells are not reported.
  using Patience = std::function<std::optional<Clock::duration>(const std::string& id)>;

  // Returns the ids whose spell is due, each once per spell.
  std::vector<std::string> take_due(Clock::time_point now, const Patience& after);
  // Returns when the next spell is due; kNever if no spell becomes due by itself.
  Clock::time_point next_due(const Patience& after) const;
  // Returns since when the device is Unhealthy; nullopt if it is not.
  std::optional<Clock::time_point> since(std::string_view id) const;

 private:
  struct Spell {
    Clock::time_point since;
    bool told = false;
  };
  std::map<std::string, Spell, std::less<>> spells_;  // by id
};

}  // namespace plughost
