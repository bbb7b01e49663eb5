#pragma once
// Where other threads ask the daemon what it does.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/event_loop.hpp"
#include "base/log_history.hpp"
#include "base/readers.hpp"
#include "telemetry/daemon_status.hpp"

namespace plughost {

class Board {
 public:
  using Snapshot = std::shared_ptr<const DaemonStatus>;
  using StatusDone = std::function<void(const Snapshot& status)>;
  using ReloadDone = std::function<void(const ReloadAnswer& answer)>;

  // What it asks, in the loop. Done is called in the loop, later or at once; or never, if the daemon stops.
  struct Daemon {
    std::function<void(StatusDone done)> status;
    // level: one of the log's, that holds until the next reload; nullopt: the configuration's.
    std::function<void(std::optional<LogLevel> level, ReloadDone done)> reload;
  };

  struct Newest {
    Snapshot status;           // nullptr: there is none yet
    std::uint64_t number = 0;  // counts them
  };

  // While somebody watches, pods are looked at so often: the kubelet tells nobody when one ends.
  static constexpr std::chrono::seconds kHoldersInterval{5};
  // Changes that come together are told together.
  static constexpr std::chrono::milliseconds kTogether{200};

  // loop, history and what daemon refers to outlive it. Made and destroyed in the loop's thread.
  Board(EventLoop& loop, LogHistory& history, Daemon daemon);
  ~Board() { close(); }

  // Loop thread. Something may be otherwise than in the newest snapshot.
  void changed();
  // Loop thread. Watchers end, and nobody is answered any more.
  void close();

  // The rest may be called by any thread. done runs in the loop; never, if the daemon stops.
  void ask_status(StatusDone done);
  void ask_reload(std::optional<LogLevel> level, ReloadDone done);

  // Who subscribes hears of each new snapshot, and calls watch() to get a first one.
  Readers& readers() { return readers_; }
  void watch();
  Newest newest() const;
  LogHistory& history() { return history_; }

 private:
  void refresh();  // a new snapshot for those who watch
  void publish(const Snapshot& status);

  LogHistory& history_;
  Daemon daemon_;
  EventLoop::Poster post_;
  Timer together_;
  Timer holders_;
  bool changed_ = false;     // since the newest snapshot
  bool refreshing_ = false;  // the daemon has been asked
  Readers readers_;
  mutable std::mutex mutex_;
  Newest newest_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace plughost
