#pragma once
// Whether the kubelet counts what it was sent: one resource's, as it is asked again and again. Plain values:
// no I/O, and no clock but the time that is told.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.hpp"
#include "device/inventory.hpp"

namespace plughost {

// What the kubelet counts is not what it was sent.
struct Disagreement {
  std::vector<std::string> missing;  // ids that were sent as Healthy, and are not counted; sorted
  std::vector<std::string> extra;    // ids that are counted, and were not sent as Healthy; sorted
  std::size_t healthy = 0;           // ids that were sent as Healthy

  bool operator==(const Disagreement&) const = default;
  bool none() const { return missing.empty() && extra.empty(); }
  // "of 4 Healthy devices it does not count 2 (a, b), and it counts 1 (x) that it was not sent as Healthy".
  std::string text() const;
};

// counted: ids, sorted, each once.
Disagreement compare(const Inventory& sent, const std::vector<std::string>& counted);

class Agreement {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // A list that is on its way, or that the kubelet has not taken in yet, is no disagreement.
  static constexpr std::chrono::seconds kLasts{5};
  // After a new registration that did not help the next one waits for the first of these, and twice as long
  // each time.
  static constexpr std::chrono::seconds kFirstPause{10};
  static constexpr std::chrono::seconds kLongestPause{600};

  // The kubelet was asked, and there is a stream to it, which was opened at attached_since. True: what it
  // counts has been wrong for so long that it is to be registered anew. While there is no stream, what the
  // kubelet counts is nobody's fault.
  bool take(const Inventory& sent, Time attached_since, Disagreement disagreement, Time now);

  // What was found last.
  const Disagreement& disagreement() const { return found_; }
  // It has been wrong for kLasts.
  bool disagrees() const { return told_; }

 private:
  Inventory sent_;
  Disagreement found_;
  std::optional<Time> since_;  // of this list and this stream; nullopt: they agree
  bool told_ = false;
  Time not_before_{};
  Backoff pause_{kFirstPause, kLongestPause};
};

}  // namespace plughost
