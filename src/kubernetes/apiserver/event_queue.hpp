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
// "DeviceUnhealthy": what `kubectl describe` has in the column Reason.
std::string_view word_of(EventReason reason);

// What an Event is about: a pod, or with both empty our Node.
struct EventSubject {
  std::string pod_namespace;
  std::string pod;

  auto operator<=>(const EventSubject&) const = default;
};

struct EventDraft {
  static constexpr std::size_t kLongestMessage = 1024;  // bytes, as events.k8s.io has it

  EventSubject subject;
  EventReason reason = EventReason::kDeviceUnhealthy;
  std::string message;
  std::uint64_t count = 0;                      // how often it happened
  std::chrono::system_clock::time_point first;  // when it did
  std::chrono::system_clock::time_point last;

  bool operator==(const EventDraft&) const = default;
};

// A v1 Event. uid: the pod's; of our Node the name serves, as the kubelet does it and kubectl looks for it.
Json event_json(const EventDraft& draft, const std::string& uid, const std::string& node);

// Of what happens to a subject for one reason there is an Event at once, and then at most one a minute that
// says how often it was. However many there are, what waits is bounded: the oldest is left out.
class EventQueue {
 public:
  using Clock = LoopClock;
  static constexpr std::chrono::seconds kInterval{60};
  static constexpr std::size_t kMost = 256;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  void record(const EventSubject& subject, EventReason reason, std::string_view text,
              std::chrono::system_clock::time_point at);
  // The oldest that may be written now.
  std::optional<EventDraft> take(Clock::time_point now);
  // When take() has something.
  Clock::time_point next_due() const;
  // How many occurrences were left out since this was asked last.
  std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }

 private:
  using Key = std::pair<EventSubject, EventReason>;
  struct Waiting {
    EventDraft draft;
    std::uint64_t unsaid = 0;  // texts that the message has no room for
  };

  Clock::time_point due(const Key& key) const;

  std::map<Key, Waiting> waiting_;
  std::map<Key, Clock::time_point> taken_;  // within the last minute
  std::uint64_t dropped_ = 0;
};

}  // namespace plughost
