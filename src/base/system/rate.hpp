#pragma once
// Rate limits and back-off.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace plughost {

// Admits at most a number of events per period. A value: the time is passed in. Not thread-safe.
class Rate {
 public:
  using Clock = std::chrono::steady_clock;

  Rate(unsigned most, Clock::duration within) : most_(most), within_(within) {}

  // Returns nullopt if the event exceeds the limit. Otherwise returns how many events were suppressed since
  // the last admitted event. A period begins with the first event after the end of the previous period.
  std::optional<unsigned> admit(Clock::time_point now) {
    if (!began_ || now - *began_ >= within_) {
      began_ = now;
      admitted_ = 0;
    }
    if (admitted_ == most_) {
      ++held_back_;
      return std::nullopt;
    }
    ++admitted_;
    return std::exchange(held_back_, 0);
  }

 private:
  unsigned most_;
  Clock::duration within_;
  std::optional<Clock::time_point> began_;
  unsigned admitted_ = 0;
  unsigned held_back_ = 0;
};

// Waiting times that double up to a limit. A plain value.
class Backoff {
 public:
  using Duration = std::chrono::milliseconds;

  constexpr Backoff(Duration first, Duration longest) : first_(first), longest_(longest), next_(first) {}

  // Returns the current waiting time, and doubles the next one.
  constexpr Duration next() {
    const Duration now = next_;
    next_ = std::min(next_ * 2, longest_);
    return now;
  }
  constexpr void reset() { next_ = first_; }

  bool operator==(const Backoff&) const = default;

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
};

}  // namespace plughost
