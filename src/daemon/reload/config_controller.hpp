#pragma once
// Controls which configuration is in force: reads, applies or refuses a new one, and keeps or rolls back a
// configuration on trial. Loop thread only.
//
// A reload on a thousand nodes must not be able to take a thousand nodes down. A file is read and checked
// whole on a worker, under a deadline, and applied only without an error; `--confirm` puts it on trial, and
// it is rolled back unless it is confirmed, or as soon as the kubelet loses a resource. Equal requests in the
// queue merge, so two administrators get one reload and two answers. A roll-back does not restore the file,
// because the file is the user's.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/shared_job.hpp"
#include "base/system/systemd.hpp"
#include "config/config.hpp"
#include "daemon/platform/followed_directories.hpp"
#include "daemon/platform/platform.hpp"
#include "daemon/reload/conditions.hpp"
#include "daemon/reload/provisional_config.hpp"
#include "daemon/reload/reload.hpp"

namespace plughost {

// Reports when the configuration's files have changed and are quiet again. Loop thread only.
class ConfigWatch {
 public:
  using Clock = EventLoop::Clock;
  // Wait after the last event: a writer may be in the middle of the file.
  static constexpr std::chrono::milliseconds kQuiet{200};
  // Longest wait, for files that are written without a pause.
  static constexpr std::chrono::milliseconds kLongestWait{5000};

  // Calls `changed` in the loop, never from within a call: after a change, and once after follow() has begun
  // to watch other directories. The other arguments must outlive this object.
  ConfigWatch(EventLoop& loop, DirWatcher& watcher, const HostRoot& host, std::function<void()> changed);

  // Watches these directories instead of the former ones. An empty list ends the watch.
  void follow(std::span<const WatchedDirectory> sources);

 private:
  void on_event();

  std::optional<Clock::time_point> first_;  // first event not yet reported
  Timer quiet_;
  FollowedDirectories directories_;
};

// Reads the configuration on a worker. Loop thread only.
class ConfigReader {
 public:
  // A read that takes longer has stalled, as has its file system.
  static constexpr std::chrono::seconds kDeadline{10};

  struct Reading {
    ConfigFiles files;
    std::shared_ptr<const Config> config;  // nullptr: see `errors`
    std::vector<std::string> errors;
  };
  using Done = std::function<void(Reading reading)>;

  // Calls `returned` when a stalled read ends, too late for its caller. The other arguments must outlive this
  // object.
  ConfigReader(Workers& workers, Log& log, std::string file, Overrides overrides,
               std::function<void()> returned);

  // Calls `done` once, in the loop; at once, with an error, while a read is stalled. One read at a time.
  void read(const Done& done);
  // Returns true while the file system does not respond. Nothing else is read during this time.
  bool hangs() const { return hangs_; }

 private:
  void on_read(Reading reading);

  Log& log_;
  const std::string file_;
  const Overrides overrides_;
  const std::function<void()> returned_;
  bool hangs_ = false;
  Reading last_;
  SharedJob<Reading> job_;
};

// The requests for a reload. Equal requests are answered together, by a reload that began after the last of
// them. A value; not thread-safe.
class ReloadQueue {
 public:
  struct Batch {
    ReloadOrder order;
    std::vector<ReloadDone> waiting;  // empty: the files have changed
  };

  void add(ReloadOrder order, ReloadDone done) {
    // The running reload may have read the file before it was written.
    const bool joins = batches_.size() > (under_way_ ? 1u : 0u) && batches_.back().order == order;
    if (!joins) batches_.push_back({order, {}});
    batches_.back().waiting.push_back(std::move(done));
  }
  // Adds a reload without a caller, which does nothing if the files are unchanged.
  void add_if_changed() {
    if (batches_.size() == (under_way_ ? 1u : 0u)) batches_.push_back({});
  }
  // Returns true if a reload must begin now; call end() after it.
  bool begin() {
    if (under_way_ || batches_.empty()) return false;
    under_way_ = true;
    return true;
  }
  // Returns true if no request is waiting or running.
  bool idle() const { return batches_.empty(); }
  // Ends the running reload and returns its requests.
  Batch end() {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    under_way_ = false;
    return batch;
  }

 private:
  std::deque<Batch> batches_;
  bool under_way_ = false;  // the reload of the first batch is running
};

// The entries, servers and files that run under the configuration in force.
class Running {
 public:
  virtual ~Running() = default;

  virtual const Config& config() const = 0;
  // Throws std::runtime_error and changes nothing on failure.
  virtual Changes apply(Config config) = 0;
  virtual Attachments attachments() const = 0;
  virtual void record_refusal(const std::vector<std::string>& errors) = 0;

  // Opens the endpoints that `config` moves, beside the present ones. Throws std::runtime_error,
  // "file:line:col: key: why", with nothing new left open. Calling the returned function puts the new
  // endpoints into use, and returns errors of endpoints that cannot be opened: devices are served without
  // these.
  using Move = std::function<std::vector<std::string>()>;
  virtual Move prepare(const TelemetryConfig& config) = 0;
  // Closes the endpoints that were replaced, once all their answers have been sent.
  virtual void end_former() = 0;
};

class ConfigController {
 public:
  // The file, and the command line's settings, which take precedence over the file.
  struct Source {
    std::string file;
    Overrides overrides;
    std::optional<LogLevel> level;
  };

  // Starts with `config` and its selection `first`. Calls `changed` when status() may have changed.
  // `platform`, `notifier` and `running` must outlive this object.
  ConfigController(Platform& platform, const Notifier& notifier, Running& running, Source source,
                   const std::shared_ptr<const Config>& config, Selection first,
                   std::function<void()> changed);
  ConfigController& operator=(ConfigController&&) = delete;

  // Calls `done` once, in the loop, when the configuration has been applied or refused.
  void reload(ReloadOrder order, ReloadDone done);
  // Keeps the configuration on trial for good, even after its time if the roll-back has failed.
  void confirm(const ConfirmDone& done);
  // Call it when the kubelet may have lost a resource, because a lost resource ends a trial.
  void check_provisional() {
    if (!giving_up_) on_provisional_time();
  }
  // Refuses every reload from now on.
  void stop() { stopping_ = true; }

  ConfigStatus status() const;

 private:
  using Confirm = std::optional<std::chrono::seconds>;  // duration of the trial; nullopt: none
  void load();
  void on_read(ConfigReader::Reading reading);
  void on_files_changed();
  void follow_files();
  void evaluate_conditions(const std::shared_ptr<const Config>& config, std::function<void(Selection)> done);
  void finish(ConfigReader::Reading reading, Selection selection = {});
  Confirm confirm_of(const ReloadQueue::Batch& reload) const;
  ReloadAnswer apply_or_refuse(ConfigReader::Reading reading, Selection selection, Confirm confirm);
  // Throws std::runtime_error and leaves the configuration in force unchanged on failure.
  ReloadAnswer apply(const std::shared_ptr<const Config>& config, Selection selection, Confirm confirm);
  void on_conditions(Config part);
  ReloadAnswer refuse(std::vector<std::string> errors);
  void configure_log(const Config& config);

  ProvisionalConfig::Before way_back() const;
  void set_provisional(std::optional<ProvisionalConfig> provisional);
  void on_provisional_time();
  void give_up(const std::string& why);
  void go_back(const std::shared_ptr<const Config>& config, Selection selection, const std::string& why);
  void on_roll_back_failed(const std::string& error);

  Platform& platform_;
  const Notifier& notifier_;
  Running& running_;
  std::optional<LogLevel> level_;  // given on the command line
  std::function<void()> changed_;
  bool stopping_ = false;

  WallTime loaded_at_ = std::chrono::system_clock::now();
  std::optional<WallTime> refused_at_;
  std::vector<std::string> errors_;  // the first errors of the last refusal
  std::optional<WallTime> given_up_at_;
  std::string given_up_why_;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
  std::optional<LogLevel> asked_level_;  // given with the last reload

  std::optional<ProvisionalConfig> provisional_;  // set while the configuration in force is on trial
  WallTime provisional_until_;
  Timer provisional_timer_;
  bool giving_up_ = false;       // the trial has ended, and the roll-back is under way or waits for the timer
  std::string roll_back_error_;  // the last error that was logged; empty: none
  Lifetime provisional_life_;    // renewed with provisional_
  ReloadQueue queue_;
  ConfigReader reader_;
  ConfigFiles files_;  // the files that were read last, applied or refused
  ConfigWatch watch_;
  Conditions conditions_;
};

}  // namespace plughost
