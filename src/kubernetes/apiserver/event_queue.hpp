#pragma once
// Kubernetes Events that wait to be written. Values, not thread-safe.

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/event_loop.hpp"
#include "base/text/json.hpp"

namespace plughost {

enum class EventReason { kDeviceUnhealthy, kDeviceHealthy, kReloadRefused };
// Returns the column Reason of `kubectl describe`: "DeviceUnhealthy".
std::string_view word_of(EventReason reason);

// The object of an Event: a pod, or the Node if both are empty.
struct EventSubject {
  std::string pod_namespace;
  std::string pod;

  auto operator<=>(const EventSubject&) const = default;
};

struct EventDraft {
  static constexpr std::size_t kLongestMessage = 1024;  // in bytes, as in events.k8s.io

  EventSubject subject;
  EventReason reason = EventReason::kDeviceUnhealthy;
  std::string message;
  std::uint64_t count = 0;                      // number of occurrences
  std::chrono::system_clock::time_point first;  // of the first and the last occurrence
  std::chrono::system_clock::time_point last;

  bool operator==(const EventDraft&) const = default;
};

// Returns a v1 Event. `uid` is the pod's UID. For the Node its name is used instead, as the kubelet does and
// as kubectl expects.
Json event_json(const EventDraft& draft, const std::string& uid, const std::string& node);

// The first occurrence for a subject and a reason becomes an Event at once; further occurrences are combined
// into at most one Event a minute, with a count. The queue is bounded: the oldest events are dropped.
class EventQueue {
 public:
  using Clock = LoopClock;
  static constexpr std::chrono::seconds kInterval{60};
  static constexpr std::size_t kMost = 256;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  void record(const EventSubject& subject, EventReason reason, std::string_view text,
              std::chrono::system_clock::time_point at);
  // Removes and returns the oldest event that may be written now.
  std::optional<EventDraft> take(Clock::time_point now);
  // Returns when take() will have an event.
  Clock::time_point next_due() const;
  // Returns how many occurrences were dropped since the last call.
  std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }

 private:
  using Key = std::pair<EventSubject, EventReason>;
  struct Waiting {
    EventDraft draft;
    std::uint64_t unsaid = 0;  // number of texts that did not fit into the message
  };

  Clock::time_point due(const Key& key) const;

  std::map<Key, Waiting> waiting_;
  std::map<Key, Clock::time_point> taken_;  // within the last minute
  std::uint64_t dropped_ = 0;
};

}  // namespace plughost
