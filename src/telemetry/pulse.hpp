#pragma once
// Whether the loop lives, told from when it was asked and when it answered. A value without a clock of its
// own; not thread-safe.

#include <chrono>
#include <optional>

namespace plughost {

class Pulse {
 public:
  using Clock = std::chrono::steady_clock;

  // Who asks is told within 50 ms; what is left of them is for the way.
  static constexpr std::chrono::milliseconds kAnswer{40};
  // A loop that is late is busy, or the machine is; one that has been silent for so long does not come back
  // by itself. The unit's watchdog waits for longer.
  static constexpr std::chrono::seconds kSilence{5};

  // True: the loop is to be asked now; answered() follows if it lives. At most one question is under way.
  bool ask(Clock::time_point now) {
    if (asked_) return false;
    asked_ = now;
    return true;
  }
  void answered() { asked_.reset(); }
  bool alive(Clock::time_point now) const { return !asked_ || now - *asked_ < kSilence; }

 private:
  std::optional<Clock::time_point> asked_;  // the question that is not answered
};

}  // namespace plughost
