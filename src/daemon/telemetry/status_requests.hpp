#pragma once
// Requests of other threads to the daemon: its status, now or after each change, reloads, confirmations and
// drains.

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
#include "daemon/handover/hand_over.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/status/status.hpp"

namespace plughost {

// The daemon's status at one moment, and its JSON. Thread-safe.
class Snapshot {
 public:
  explicit Snapshot(DaemonStatus status) : status_(std::move(status)) {}

  const DaemonStatus& status() const { return status_; }
  // Returns the JSON on one line. The first call makes the JSON, which may take milliseconds.
  const std::string& json() const {
    std::call_once(made_, [this] { json_ = status_.json().dump(); });
    return json_;
  }

 private:
  const DaemonStatus status_;
  mutable std::once_flag made_;
  mutable std::string json_;
};

// Decides when watchers get a new snapshot. A value; callers pass the time. Not thread-safe.
class SnapshotTimes {
 public:
  using Clock = LoopClock;

  // Interval of queries for holders, because the kubelet does not announce the end of a pod.
  static constexpr std::chrono::seconds kHoldersInterval{5};
  // Delay that collects changes for one snapshot.
  static constexpr std::chrono::milliseconds kTogether{200};

  // Returns when to call begin(); nullopt: after the next event.
  std::optional<Clock::time_point> due() const { return due_; }

  // Call it when the status may have changed. `watched` means that a watcher exists.
  void changed(Clock::time_point now, bool watched) {
    changed_ = true;
    if (watched) due_ = std::min(due_.value_or(now + kTogether), now + kTogether);
  }
  // Call it when a watcher is added. A new watcher gets a snapshot in any case.
  void joined(Clock::time_point now) {
    changed_ = true;
    due_ = now;
  }
  // Returns true if a snapshot must be made now; call arrived() when the snapshot has been made.
  bool begin(Clock::time_point now, bool watched) {
    due_.reset();
    if (!watched) return false;
    due_ = now + kHoldersInterval;
    return !std::exchange(making_, true);
  }
  // Returns true if the snapshot must be sent. `other_holders` means that the holders have changed.
  bool arrived(bool other_holders) {
    making_ = false;
    return std::exchange(changed_, false) || other_holders;
  }

 private:
  std::optional<Clock::time_point> due_;
  bool changed_ = false;  // the status may have changed since the newest snapshot
  bool making_ = false;
};

class StatusRequests {
 public:
  using SnapshotPointer = std::shared_ptr<const Snapshot>;
  using StatusDone = std::function<void(const SnapshotPointer& snapshot)>;
  using DrainDone = std::function<void(const DrainAnswer& answer)>;

  // Implemented by Daemon, and called in the loop. Each function calls `done` in the loop, possibly from
  // within the call; never, if the daemon stops.
  class Owner {
   public:
    using StatusMade = std::function<void(DaemonStatus status)>;

    virtual ~Owner() = default;
    virtual void query_status(WithHolders with, StatusMade done) = 0;
    virtual void reload(ReloadOrder order, ReloadDone done) = 0;
    virtual void confirm(ConfirmDone done) = 0;
    virtual void drain(DrainOrder order, DrainDone done) = 0;
    // `by` is the requesting process, 0 if it is in another pid namespace.
    virtual void hand_over(HandOverStep step, pid_t by, HandOver::Done done) = 0;
  };

  struct Newest {
    SnapshotPointer snapshot;  // nullptr: none yet
    std::uint64_t number = 0;  // increases with each snapshot
  };

  // The references must outlive this object. Constructed and destroyed on the loop thread.
  StatusRequests(EventLoop& loop, LogHistory& history, Owner& owner);
  ~StatusRequests() { close(); }
  StatusRequests& operator=(StatusRequests&&) = delete;

  // Loop thread. Call it when the status may have changed.
  void changed();
  // Loop thread. Ends the watchers and drops all waiting requests.
  void close();

  // The following functions may be called on any thread. `done` runs on the thread that makes texts, because
  // the text of a status may be long; never, if the daemon stops. Equal requests share a snapshot.
  void query_status(WithHolders with, StatusDone done);
  // Calls `done` in the loop; never, if the daemon stops.
  void request_reload(ReloadOrder order, ReloadDone done);
  // Confirms the configuration on trial. `done` as above.
  void request_confirm(ConfirmDone done);
  // Calls `done` as query_status() does, because the answer may name many holders.
  void request_drain(DrainOrder order, DrainDone done);
  // Calls `done` in the loop; never, if the daemon stops.
  void request_hand_over(HandOverStep step, pid_t by, HandOver::Done done);

  // A reader is woken after each new snapshot, when its JSON is ready. Call watch() after subscribing to get
  // a first snapshot.
  Readers& readers() { return told_->readers; }
  void watch();
  Newest newest() const;
  LogHistory& history() { return history_; }

 private:
  // State shared with the thread that makes texts.
  struct Told {
    Readers readers;
    mutable std::mutex mutex;
    Newest newest;
  };

  // Runs `task` in the loop if this object still exists then.
  void post(std::function<void()> task);
  // Calls `handed` in the loop with the daemon's answer.
  void ask(WithHolders with, StatusDone handed);
  void on_status(WithHolders with, DaemonStatus status);
  void on_due();
  void arm();
  void publish(const SnapshotPointer& snapshot);
  void make_text(std::function<void()> job);

  LogHistory& history_;
  Owner& owner_;
  EventLoop::Poster post_;
  SnapshotTimes times_;
  Timer due_;
  std::map<WithHolders, std::vector<StatusDone>> asking_;  // requests under way
  Newest published_;
  const std::shared_ptr<Told> told_ = std::make_shared<Told>();
  Lifetime open_;  // ends with close()
  // copied by other threads
  const std::function<void(const std::function<void()>& task)> if_open_ =
      open_.bound([](const std::function<void()>& task) { task(); });
  Workers texts_;
};

}  // namespace plughost
