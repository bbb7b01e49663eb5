#pragma once
// Which configuration is in force: how another one comes to that, on trial or for good, or is refused. Loop
// thread only.

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

// Says when the files of the configuration have changed and are quiet again. Loop thread only.
class ConfigWatch {
 public:
  using Clock = EventLoop::Clock;
  // Somebody may be in the middle of writing.
  static constexpr std::chrono::milliseconds kQuiet{200};
  // Where somebody writes without end, it is read all the same.
  static constexpr std::chrono::milliseconds kLongestWait{5000};

  // changed is called in the loop, not from within: also when nothing has changed but that the files are
  // followed from then on. The others outlive it.
  ConfigWatch(EventLoop& loop, DirWatcher& watcher, const HostRoot& host, std::function<void()> changed);

  // Where the files are from now on; nothing: they are not followed.
  void follow(std::span<const WatchedDirectory> sources);

 private:
  void on_event();

  std::optional<Clock::time_point> first_;  // event that nobody has been told of
  Timer quiet_;
  FollowedDirectories directories_;
};

// Reads the configuration on a worker. Loop thread only.
class ConfigReader {
 public:
  // After this a reading hangs: so does its file system.
  static constexpr std::chrono::seconds kDeadline{10};

  struct Reading {
    ConfigFiles files;
    std::shared_ptr<const Config> config;  // nullptr: errors says why
    std::vector<std::string> errors;
  };
  using Done = std::function<void(Reading reading)>;

  // returned: a reading that hung has come back, too late for its reader. The others outlive it.
  ConfigReader(Workers& workers, Log& log, std::string file, Overrides overrides,
               std::function<void()> returned);

  // done runs in the loop, once; at once while a reading hangs. One at a time.
  void read(const Done& done);
  // True: the file system does not answer, and nothing else is read until it does.
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

// Who waits for a reload: those who ask alike are answered by one that began after all of them had asked. A
// value; not thread-safe.
class ReloadQueue {
 public:
  struct Batch {
    ReloadOrder order;
    std::vector<ReloadDone> waiting;  // nobody: it is for what has changed
  };

  void add(ReloadOrder order, ReloadDone done) {
    // The one that is under way may have read the file before it was written.
    const bool joins = batches_.size() > (under_way_ ? 1u : 0u) && batches_.back().order == order;
    if (!joins) batches_.push_back({order, {}});
    batches_.back().waiting.push_back(std::move(done));
  }
  // For nobody who waits: if the files say the same as before, nothing is to be done.
  void add_if_changed() {
    if (batches_.size() == (under_way_ ? 1u : 0u)) batches_.push_back({});
  }
  // True: a reload is to begin now; end() follows.
  bool begin() {
    if (under_way_ || batches_.empty()) return false;
    under_way_ = true;
    return true;
  }
  // Nobody waits for one.
  bool idle() const { return batches_.empty(); }
  // Of the one that was under way.
  Batch end() {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    under_way_ = false;
    return batch;
  }

 private:
  std::deque<Batch> batches_;
  bool under_way_ = false;  // the first one
};

// What runs by the configuration in force: entries, and the servers and files that tell of them.
class Running {
 public:
  virtual ~Running() = default;

  virtual const Config& config() const = 0;
  // Throws std::runtime_error, and then nothing has changed.
  virtual Changes apply(Config config) = 0;
  virtual Attachments attachments() const = 0;
  // A reload was refused for these.
  virtual void record_refusal(const std::vector<std::string>& errors) = 0;

  // Opens what that configuration moves, beside what it takes the place of. Throws std::runtime_error,
  // "file:line:col: key: why", and then nothing is open that was not before. What it returns, if it is
  // called, has the new ones asked from now on, and says what could not be had: devices are served without
  // it.
  using Move = std::function<std::vector<std::string>()>;
  virtual Move prepare(const TelemetryConfig& config) = 0;
  // Nobody waits for the answers of those that were moved.
  virtual void end_former() = 0;
};

class ConfigController {
 public:
  // Where it is read, and what the command line says, which wins over the file.
  struct Source {
    std::string file;
    Overrides overrides;
    std::optional<LogLevel> level;
  };

  // In force at first: that of first runs. changed is called when status() may say something else.
  // platform, notifier and running outlive it.
  ConfigController(Platform& platform, const Notifier& notifier, Running& running, Source source,
                   const std::shared_ptr<const Config>& config, Selection first,
                   std::function<void()> changed);
  ConfigController& operator=(ConfigController&&) = delete;

  // done runs in the loop, once, when it is in force or refused.
  void reload(ReloadOrder order, ReloadDone done);
  // What is on trial stays for good, even if its time is over and the one before cannot be had back.
  void confirm(const ConfirmDone& done);
  // The kubelet may have lost a resource: a trial ends by that.
  void check_provisional() {
    if (!giving_up_) on_provisional_time();
  }
  // From now on everything is refused.
  void stop() { stopping_ = true; }

  ConfigStatus status() const;

 private:
  using Confirm = std::optional<std::chrono::seconds>;  // on trial for so long
  void load();
  void on_read(ConfigReader::Reading reading);
  void on_files_changed();
  void follow_files();
  void evaluate_conditions(const std::shared_ptr<const Config>& config, std::function<void(Selection)> done);
  void finish(ConfigReader::Reading reading, Selection selection = {});
  Confirm confirm_of(const ReloadQueue::Batch& reload) const;
  ReloadAnswer apply_or_refuse(ConfigReader::Reading reading, Selection selection, Confirm confirm);
  // Throws std::runtime_error, and then the configuration that was in force still is.
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
  std::optional<LogLevel> level_;  // of the command line
  std::function<void()> changed_;
  bool stopping_ = false;

  WallTime loaded_at_ = std::chrono::system_clock::now();
  std::optional<WallTime> refused_at_;
  std::vector<std::string> errors_;  // of what was refused then, the first ones
  std::optional<WallTime> given_up_at_;
  std::string given_up_why_;
  std::uint64_t applied_ = 0;
  std::uint64_t refused_ = 0;
  std::optional<LogLevel> asked_level_;  // by the last reload

  std::optional<ProvisionalConfig> provisional_;  // of what is in force
  WallTime provisional_until_;
  Timer provisional_timer_;
  bool giving_up_ = false;       // provisional_ is over, and the timer tries again
  std::string roll_back_error_;  // that the log has; empty: none
  Lifetime provisional_life_;    // provisional_'s
  ReloadQueue queue_;
  ConfigReader reader_;
  ConfigFiles files_;  // that were read last, whatever became of it
  ConfigWatch watch_;
  Conditions conditions_;
};

}  // namespace plughost
