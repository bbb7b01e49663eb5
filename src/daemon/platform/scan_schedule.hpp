#pragma once
// Decides when an entry's devices are scanned, and whether a scan is stalled. A value: the time is passed in.
// Not thread-safe.

#include <chrono>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"

namespace plughost {

// Events only request scans; a scan determines what is present. A request is served at once, up to five scans
// in a row and ten a second. Further requests wait for a quiet moment, up to a limit.
class ScanSchedule {
 public:
  using Clock = LoopClock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  static constexpr std::chrono::milliseconds kQuiet{100};
  // The cost of a scan; the budget allows a burst, and grows by one scan in this time.
  static constexpr std::chrono::milliseconds kCost{100};
  static constexpr int kAtOnce = 5;
  static constexpr std::chrono::milliseconds kLongestWait{1000};
  // The retry interval after failures; it doubles each time.
  static constexpr std::chrono::milliseconds kFirstRetry{1000};
  static constexpr std::chrono::milliseconds kLongestRetry{60'000};

  // Returns when the next scan begins if nothing else happens; never during a scan.
  Clock::time_point due() const { return scanning_ ? kNever : std::min(requested_, timed_); }
  // Returns true if a scan has exceeded its deadline, and none has ended since.
  bool stalled() const { return stalled_; }

  // Something may have changed.
  void request_scan(Clock::time_point now);
  // The scan begins.
  void begin(Clock::time_point now);
  // The scan exceeds its deadline.
  void overdue() { stalled_ = true; }

  // The scan has ended. rescan_after: requests another scan; zero: none.
  void succeed(Clock::time_point now, std::chrono::seconds rescan_after);
  // In addition, the list will change by itself at that time.
  void change_at(Clock::time_point then);
  // In addition, something is now watched that was not before: earlier changes were not noticed.
  void follow_more(Clock::time_point now) { requested_ = now; }

  // The scan has ended without a result.
  void fail(Clock::time_point now);
  // The source has been replaced: a running scan is irrelevant.
  void replace(Clock::time_point now);

 private:
  bool may_begin(Clock::time_point now) const { return spent_until_ - now <= (kAtOnce - 1) * kCost; }
  void end(Clock::time_point now);

  bool scanning_ = false;
  bool stalled_ = false;
  bool requested_meanwhile_ = false;      // during the scan
  Clock::time_point began_{};             // the latest scan
  Clock::time_point spent_until_{};       // when the budget will be complete
  Clock::time_point first_request_{};     // of the pending requests
  Clock::time_point requested_ = kNever;  // the scan for the pending requests
  Clock::time_point timed_ = kNever;      // the scan that is due without a request
  Backoff retry_{kFirstRetry, kLongestRetry};
};

}  // namespace plughost
