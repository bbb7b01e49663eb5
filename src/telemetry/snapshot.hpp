#pragma once
// The daemon's status at one moment, and when those who watch are told of a new one.

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/event_loop.hpp"
#include "status/status.hpp"

namespace plughost {

// The daemon's status at one moment, and its JSON. Thread-safe.
class Snapshot {
 public:
  explicit Snapshot(DaemonStatus status) : status_(std::move(status)) {}

  const DaemonStatus& status() const { return status_; }
  // On one line. Made once, by the thread that asks first: a node's devices may take it some milliseconds.
  const std::string& json() const {
    std::call_once(made_, [this] { json_ = status_.json().dump(); });
    return json_;
  }

 private:
  const DaemonStatus status_;
  mutable std::once_flag made_;
  mutable std::string json_;
};

// When those who watch are told of a new snapshot. A value without a clock of its own; not thread-safe.
class SnapshotTimes {
 public:
  using Clock = LoopClock;

  // Pods are looked at so often: the kubelet tells nobody when one ends.
  static constexpr std::chrono::seconds kHoldersInterval{5};
  // Changes that come together are told together.
  static constexpr std::chrono::milliseconds kTogether{200};

  // When begin() is to be called; nullopt: not before something happens.
  std::optional<Clock::time_point> due() const { return due_; }

  // Something may be otherwise. watched: by somebody.
  void changed(Clock::time_point now, bool watched) {
    changed_ = true;
    if (watched) due_ = std::min(due_.value_or(now + kTogether), now + kTogether);
  }
  // Somebody watches from now on, and hears of a snapshot whatever the others were told.
  void joined(Clock::time_point now) {
    changed_ = true;
    due_ = now;
  }
  // True: a snapshot is to be made now; arrived() follows.
  bool begin(Clock::time_point now, bool watched) {
    due_.reset();
    if (!watched) return false;
    due_ = now + kHoldersInterval;
    return !std::exchange(making_, true);
  }
  // True: the snapshot is told. other_holders: than in the former one.
  bool arrived(bool other_holders) {
    making_ = false;
    return std::exchange(changed_, false) || other_holders;
  }

 private:
  std::optional<Clock::time_point> due_;
  bool changed_ = false;  // since the newest snapshot
  bool making_ = false;
};

}  // namespace plughost
