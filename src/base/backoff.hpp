#pragma once
// Waiting times that double. A plain value.

#include <algorithm>
#include <chrono>

namespace plughost {

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
