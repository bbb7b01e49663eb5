#pragma once
// When to scan for an entry's devices, and whether a scan hangs. A value, which is told the time; not
// thread-safe.

#include <chrono>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"

namespace plughost {

// Events only request scans; what is there, a scan says. A request is served at once, by five scans in a row
// and ten a second; more of them wait for a quiet moment, but not for ever.
class ScanSchedule {
 public:
  using Clock = LoopClock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  static constexpr std::chrono::milliseconds kQuiet{100};
  // What a scan costs of a budget of so many, which grows by one in that time.
  static constexpr std::chrono::milliseconds kCost{100};
  static constexpr int kAtOnce = 5;
  static constexpr std::chrono::milliseconds kLongestWait{1000};
  // A scan that fails is tried again after the first of these, and after twice as long each time.
  static constexpr std::chrono::milliseconds kFirstRetry{1000};
  static constexpr std::chrono::milliseconds kLongestRetry{60'000};

  // When the next scan is to begin, if nothing else happens; never while one is under way.
  Clock::time_point due() const { return scanning_ ? kNever : std::min(requested_, timed_); }
  // A scan has taken too long, and none has ended since.
  bool stalled() const { return stalled_; }

  // Something may have changed.
  void request_scan(Clock::time_point now);
  // The scan begins.
  void begin(Clock::time_point now);
  // It takes too long.
  void overdue() { stalled_ = true; }

  // It ended, and asks for another after rescan_after; zero: it does not.
  void succeed(Clock::time_point now, std::chrono::seconds rescan_after);
  // Beside that, what is listed changes by itself at that time.
  void change_at(Clock::time_point then);
  // Beside that, something is followed now that was not before: what changed until then nobody has seen.
  void follow_more(Clock::time_point now) { requested_ = now; }

  // It ended without a result.
  void fail(Clock::time_point now);
  // Its source is another one now: nobody waits for it any more.
  void replace(Clock::time_point now);

 private:
  bool may_begin(Clock::time_point now) const { return spent_until_ - now <= (kAtOnce - 1) * kCost; }
  void end(Clock::time_point now);

  bool scanning_ = false;
  bool stalled_ = false;
  bool requested_meanwhile_ = false;      // while it ran
  Clock::time_point began_{};             // the latest scan
  Clock::time_point spent_until_{};       // the budget is whole again then
  Clock::time_point first_request_{};     // of those that wait
  Clock::time_point requested_ = kNever;  // the scan that they ask for
  Clock::time_point timed_ = kNever;      // the scan that comes without a request
  Backoff retry_{kFirstRetry, kLongestRetry};
};

}  // namespace plughost
