#pragma once
// Decides when an entry's devices are scanned, and whether a scan is stalled. A value: the time is passed in.
// Not thread-safe.

#include <chrono>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"

namespace plughost {

// Events only request scans; a scan determines what is present. A request is served at once, up to five scans
// in a row and ten a second. Further requests wait for a quiet moment, but not longer than kLongestWait.
class ScanSchedule {
 public:
  using Clock = LoopClock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  static constexpr std::chrono::milliseconds kQuiet{100};
  // The budget for scans allows kAtOnce scans in a row, and recovers by one scan in this time.
  static constexpr std::chrono::milliseconds kCost{100};
  static constexpr int kAtOnce = 5;
  static constexpr std::chrono::milliseconds kLongestWait{1000};
  // The retry interval after failures; it doubles each time.
  static constexpr std::chrono::milliseconds kFirstRetry{1000};
  static constexpr std::chrono::milliseconds kLongestRetry{60'000};

  // Returns when the next scan begins if nothing else happens; never during a scan.
  Clock::time_point due() const { return scanning_ ? kNever : std::min(requested_, timed_); }
  // Returns true if a scan has exceeded its deadline, and no scan has ended since.
  bool stalled() const { return stalled_; }

  // Call it when something may have changed.
  void request_scan(Clock::time_point now);
  // Call it when the scan begins.
  void begin(Clock::time_point now);
  // Call it when the scan exceeds its deadline.
  void overdue() { stalled_ = true; }

  // Call it when the scan has ended. The next scan follows after `rescan_after`; zero: no scheduled scan.
  void succeed(Clock::time_point now, std::chrono::seconds rescan_after);
  // Schedules a scan for the time at which the list will change by itself.
  void change_at(Clock::time_point then);
  // Requests a scan at once, because a new watch cannot report changes from before it existed.
  void follow_more(Clock::time_point now) { requested_ = now; }

  // Call it when the scan has ended without a result.
  void fail(Clock::time_point now);
  // Call it when the source has been replaced: a running scan no longer counts.
  void replace(Clock::time_point now);

 private:
  bool may_begin(Clock::time_point now) const { return spent_until_ - now <= (kAtOnce - 1) * kCost; }
  void end(Clock::time_point now);

  bool scanning_ = false;
  bool stalled_ = false;
  bool requested_meanwhile_ = false;      // a scan was requested during the scan
  Clock::time_point began_{};             // when the latest scan began
  Clock::time_point spent_until_{};       // when the budget will be complete
  Clock::time_point first_request_{};     // of the pending requests
  Clock::time_point requested_ = kNever;  // when the scan for the pending requests begins
  Clock::time_point timed_ = kNever;      // when the scan that needs no request begins
  Backoff retry_{kFirstRetry, kLongestRetry};
};

}  // namespace plughost
