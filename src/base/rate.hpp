#pragma once
// So many of a kind within a time, and no more. A value that is told the time; not thread-safe.

#include <chrono>
#include <optional>
#include <utility>

namespace plughost {

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

}  // namespace plughost
