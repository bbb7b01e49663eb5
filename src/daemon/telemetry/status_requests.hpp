#pragma once
// What other threads ask of the daemon: its status, now or whenever it has changed, a reload, to keep what
// is on trial, and to drain a device.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log/log_history.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/readers.hpp"
#include "base/system/workers.hpp"
#include "daemon/drain/drain_controller.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/status/status.hpp"

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

class StatusRequests {
 public:
  using SnapshotPointer = std::shared_ptr<const Snapshot>;
  using StatusDone = std::function<void(const SnapshotPointer& snapshot)>;
  using DrainDone = std::function<void(const DrainAnswer& answer)>;

  // What it asks, in the loop. Done is called in the loop, later or at once; or never, if the daemon stops.
  struct Daemon {
    std::function<void(WithHolders with, std::function<void(DaemonStatus)> done)> status;
    std::function<void(ReloadOrder order, ReloadDone done)> reload;
    std::function<void(ConfirmDone done)> confirm = {};
    std::function<void(DrainOrder order, DrainDone done)> drain = {};
  };

  struct Newest {
    SnapshotPointer snapshot;  // nullptr: there is none yet
    std::uint64_t number = 0;  // counts them
  };

  // loop, history and what daemon refers to outlive it. Made and destroyed in the loop's thread.
  StatusRequests(EventLoop& loop, LogHistory& history, Daemon daemon);
  ~StatusRequests() { close(); }
  StatusRequests& operator=(StatusRequests&&) = delete;

  // Loop thread. Something may be otherwise than in the newest snapshot.
  void changed();
  // Loop thread. Watchers end, and nobody else is answered any more.
  void close();

  // The rest may be called by any thread. A node's devices may be many: done runs on a thread of its own, on
  // which a snapshot may be made a text of; never, if the daemon stops. Those who ask for the same while a
  // snapshot is being made share it.
  void query_status(WithHolders with, StatusDone done);
  // done runs in the loop; never, if the daemon stops.
  void request_reload(ReloadOrder order, ReloadDone done);
  // The configuration that is on trial is to stay. done as above.
  void request_confirm(ConfirmDone done);
  // The answer names the holders, who may be many: done runs where request_status() runs it.
  void request_drain(DrainOrder order, DrainDone done);

  // Who subscribes hears of each new snapshot, whose JSON is there by then, and calls watch() to get a first
  // one.
  Readers& readers() { return told_->readers; }
  void watch();
  Newest newest() const;
  LogHistory& history() { return history_; }

 private:
  // What the thread that makes texts uses, too.
  struct Told {
    Readers readers;
    mutable std::mutex mutex;
    Newest newest;
  };

  // Runs task in the loop, if this is still there then.
  void post(std::function<void()> task);
  // handed runs in the loop, when the daemon has told.
  void ask(WithHolders with, StatusDone handed);
  void on_status(WithHolders with, DaemonStatus status);
  void on_due();
  void arm();
  void publish(const SnapshotPointer& snapshot);
  void make_text(std::function<void()> job);

  LogHistory& history_;
  Daemon daemon_;
  EventLoop::Poster post_;
  SnapshotTimes times_;
  Timer due_;
  std::map<WithHolders, std::vector<StatusDone>> asking_;  // those that are there have been put
  Newest published_;
  const std::shared_ptr<Told> told_ = std::make_shared<Told>();
  Lifetime open_;  // until close()
  // Other threads copy it.
  const std::function<void(const std::function<void()>& task)> if_open_ =
      open_.bound([](const std::function<void()>& task) { task(); });
  Workers texts_;
};

}  // namespace plughost
