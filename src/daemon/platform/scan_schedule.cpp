#include "daemon/platform/scan_schedule.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

void ScanSchedule::request_scan(Clock::time_point now) {
  if (scanning_) {
    requested_meanwhile_ = true;
    return;
  }
  if (requested_ <= now) return;
  if (requested_ == kNever) {
    first_request_ = now;
    if (may_begin(now)) {
      requested_ = now;
      return;
    }
  }
  requested_ = std::min(now + kQuiet, first_request_ + kLongestWait);
}

void ScanSchedule::begin(Clock::time_point now) {
  scanning_ = true;
  began_ = now;
  const bool storm = requested_ == first_request_ + kLongestWait;  // no quiet moment came before
  spent_until_ = storm ? now + kAtOnce * kCost : std::max(spent_until_, now) + kCost;
  requested_ = timed_ = kNever;
}

void ScanSchedule::succeed(Clock::time_point now, std::chrono::seconds rescan_after) {
  retry_.reset();
  if (rescan_after > rescan_after.zero()) timed_ = now + rescan_after;
  end(now);
}

void ScanSchedule::change_at(Clock::time_point then) {
  // The result of the scan includes changes that were due before the scan began.
  if (then > began_) timed_ = std::min(timed_, std::max(then, began_ + kQuiet));
}

void ScanSchedule::fail(Clock::time_point now) {
  timed_ = now + retry_.next();
  end(now);
}

void ScanSchedule::replace(Clock::time_point now) {
  scanning_ = false;
  requested_meanwhile_ = false;
  retry_.reset();
  requested_ = now;
}

void ScanSchedule::end(Clock::time_point now) {
  scanning_ = false;
  stalled_ = false;
  if (std::exchange(requested_meanwhile_, false)) request_scan(now);
}

}  // namespace plughost
