#pragma once
// How often: so many within a time, and waiting times that double.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace plughost {

// So many of a kind within a time, and no more. A value that is told the time; not thread-safe.
class Rate {
 public:
  using Clock = std::chrono::steady_clock;

  Rate(unsigned most, Clock::duration within) : most_(most), within_(within) {}

  // nullopt: not this one. Otherwise how many were held back since the last that was not. The time begins
  // with the first one, and anew with the first after it.
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

// Waiting times that double. A plain value.
class Backoff {
 public:
  using Duration = std::chrono::milliseconds;

  constexpr Backoff(Duration first, Duration longest) : first_(first), longest_(longest), next_(first) {}

  // How long to wait now; the next time twice as long.
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
