// `exec: {discover or watch, interval, timeout, triggers, attributes, user}`: a program of the user's reports
// the devices.

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/rate.hpp"
#include "host/programs/program.hpp"
#include "host/programs/programs.hpp"
#include "host/programs/subprocess.hpp"
#include "kinds/exec/document.hpp"
#include "kinds/kind.hpp"

namespace plughost {
namespace {

// The newest document of a program. Thread-safe: written by the loop, read by scans.
class Newest {
 public:
  struct Said {
    std::shared_ptr<const std::string> document;  // nullptr: none yet
    std::string errors;                           // ": " and the last line of standard error at that time
    std::string error;                            // why the document may be outdated; empty: it is current
  };

  Said get() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  void take_document(std::string document, std::string errors) {
    auto shared = std::make_shared<const std::string>(std::move(document));
    const std::lock_guard lock(mutex_);
    said_ = {.document = std::move(shared), .errors = std::move(errors)};
  }
  void take_error(std::string error) {
    const std::lock_guard lock(mutex_);
    said_.error = std::move(error);
  }

 private:
  mutable std::mutex mutex_;
  Said said_;
};

// A program that prints nothing for this long after its start counts as stuck.
constexpr std::chrono::milliseconds kFirstLine = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kFirstPause = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(1);
// A program that has run for this long did not fail at its start.
constexpr std::chrono::seconds kSettled{10};

// `discover`: runs the program, which prints a document, before each scan. `programs` must outlive the watch.
class Discovery final : public SourceWatch {
 public:
  Discovery(Programs& programs, Program program, std::shared_ptr<Newest> newest)
      : queue_(programs, Purpose::kList), program_(std::move(program)), newest_(std::move(newest)) {}

  void before_scan(const std::function<void()>& then) override {
    if (lives_) return then();  // the killed program has not ended, and its error is still current
    process_.emplace(
        queue_, program_,
        [this, then](const Ending& ending) {
          on_end(ending);
          then();
        },
        [this] { lives_ = false; });
  }

 private:
  void on_end(const Ending& ending) {
    lives_ = ending.how == Ending::How::kOverdue;
    if (std::string why = why_failed({.path = program_.command.front()}, ending); !why.empty())
      newest_->take_error(std::move(why));
    else
      newest_->take_document(ending.output, last_words(ending.errors));
  }

  ProgramQueue queue_;
  Program program_;
  std::shared_ptr<Newest> newest_;
  bool lives_ = false;                 // the program was killed and has not ended
  std::optional<Subprocess> process_;  // the running or the previous program
};

// `watch`: the program runs permanently, prints a document on one line after each change, and is restarted
// when it ends. `timeout` is the longest silence of a healthy program; nullopt: unlimited. `request_scan` is
// called when `newest` has changed. `programs` must outlive the watch.
class StayingProgram final : public SourceWatch {
 public:
  StayingProgram(Programs& programs, Program program, std::optional<std::chrono::milliseconds> timeout,
                 std::shared_ptr<Newest> newest, std::function<void()> request_scan)
      : queue_(programs, Purpose::kStay),
        program_(std::move(program)),
        timeout_(timeout),
        newest_(std::move(newest)),
        request_scan_(std::move(request_scan)),
        start_(programs.loop(), [this] { start(); }) {
    program_.timeout = timeout_.value_or(kFirstLine);
    program_.on_line = [this](std::string_view line) { on_line(line); };
    start();
  }

 private:
  void start() {
    started_ = EventLoop::Clock::now();
    process_.emplace(
        queue_, program_, [this](const Ending& ending) { on_end(ending); }, [this] { restart(); });
  }

  void on_line(std::string_view line) {
    process_->extend(timeout_.value_or(Program::kForEver));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;  // a keep-alive
    newest_->take_document(std::string(line), last_words(process_->errors()));
    request_scan_();
  }

  void on_end(const Ending& ending) {
    std::string why =
        why_failed({.path = program_.command.front(), .late = ": it printed nothing for "}, ending);
    if (why.empty()) why = "the program, which was to stay, has ended" + last_words(ending.errors);
    const bool lives = ending.how == Ending::How::kOverdue;
    if (!lives && !ending.output.empty() && !ending.excess) why += " (in the middle of a line)";
    newest_->take_error(std::move(why));
    request_scan_();
    if (!lives) restart();
  }

  void restart() {
    if (EventLoop::Clock::now() - started_ >= kSettled) pause_.reset();
    start_.arm(pause_.next());
  }

  ProgramQueue queue_;
  Program program_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::shared_ptr<Newest> newest_;
  std::function<void()> request_scan_;
  EventLoop::Clock::time_point started_;
  Backoff pause_{kFirstPause, kLongestPause};
  std::optional<Subprocess> process_;  // the running or the previous program
  Timer start_;
};

constexpr std::chrono::seconds kInterval{30};
constexpr std::chrono::seconds kShortestInterval{1};
constexpr std::chrono::seconds kLongestInterval = std::chrono::days(1);
constexpr std::chrono::milliseconds kTimeout{5'000};
constexpr std::chrono::milliseconds kShortestTimeout{100};
constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::minutes(1);
constexpr std::chrono::milliseconds kLongestSilence = std::chrono::days(1);
// Placeholders of every kind, which a program's attribute must not redefine.
constexpr std::array<std::string_view, 5> kTaken = {"resource", "resourceEnv", "count", "id", "n"};

struct ExecSettings {
  std::string program;               // its path
  std::vector<std::string> command;  // with the words that run it as another user
  bool as_user = false;              // the program runs as another user
  bool stays = false;                // `watch`
  // The longest run; for a permanent program the longest silence, unlimited if not set.
  std::optional<std::chrono::milliseconds> timeout;
  // The interval between runs of `discover`.
  std::chrono::seconds interval{0};
  std::vector<std::string> subsystems;
  std::vector<std::filesystem::path> paths;
};

class ExecSource final : public DeviceSource {
 public:
  explicit ExecSource(ExecSettings settings) : settings_(std::move(settings)) {}

  Scan scan(const HostRoot& host) const override {
    Scan scan = triggers(host);
    if (!host.runs_programs()) {
      scan.undecided = true;
      scan.remarks.push_back("what " + settings_.program + " says is not known here: no program is run");
      return scan;
    }
    const Newest::Said said = watched_ ? newest_->get() : first_word();
    if (!said.document && said.error.empty()) {
      scan.undecided = true;
      return scan;
    }
    read(said);
    scan.devices = devices_;
    scan.funnels = {{.selector = "exec",
                     .candidates = "device",
                     .seen = devices_.size(),
                     .nothing = "the program " + settings_.program + " lists no device"}};
    if (said.error.empty()) return scan;
    scan.remarks.push_back(said.error);
    for (Device& device : scan.devices) {
      if (device.healthy()) device.error = said.error;
    }
    return scan;
  }

  SandboxNeeds sandbox_needs() const override { return {.programs = true, .users = settings_.as_user}; }

  std::unique_ptr<SourceWatch> watch(Programs& programs,
                                     const std::function<void()>& request_scan) const override {
    watched_ = true;
    return begin(programs, newest_, request_scan);
  }

 private:
  std::unique_ptr<SourceWatch> begin(Programs& programs, std::shared_ptr<Newest> newest,
                                     const std::function<void()>& request_scan) const {
    Program program = document_program(settings_.command);
    if (settings_.stays)
      return std::make_unique<StayingProgram>(programs, std::move(program), settings_.timeout,
                                              std::move(newest), request_scan);
    program.timeout = settings_.timeout.value();
    return std::make_unique<Discovery>(programs, std::move(program), std::move(newest));
  }

  // Runs the program until its first document, for a scan without a daemon.
  Newest::Said first_word() const {
    EventLoop loop;
    Programs programs(loop);
    const auto newest = std::make_shared<Newest>();
    const auto stop = [&loop] { loop.stop(); };
    const auto program = begin(programs, newest, stop);
    if (!settings_.stays) program->before_scan(stop);
    loop.run();
    return newest->get();
  }

  Scan triggers(const HostRoot& host) const {
    Scan scan;
    scan.rescan_after = settings_.interval;
    scan.subsystems = settings_.subsystems;
    for (const std::filesystem::path& path : settings_.paths) {
      scan.watch.push_back({.path = path.parent_path(), .name = path.filename()});
      if (host.type(path) == FileType::kDirectory) scan.watch.push_back({.path = path});
    }
    return scan;
  }

  // Sets devices_ to the document's devices. If a permanent program has failed, the devices of its last
  // document stay; if a `discover` program has failed, throws.
  void read(const Newest::Said& said) const {
    if (!settings_.stays && !said.error.empty()) throw std::runtime_error(said.error);
    if (said.document && said.document != read_) {
      try {
        devices_ = read_exec_document(*said.document);
        read_ = said.document;
      } catch (const DocumentError& exception) {
        if (said.error.empty())
          throw std::runtime_error(
              "what the program printed cannot be used: " + std::string(exception.what()) + said.errors);
      }
    }
    if (!read_) throw std::runtime_error(said.error);
  }

  ExecSettings settings_;
  std::shared_ptr<Newest> newest_ = std::make_shared<Newest>();
  mutable bool watched_ = false;  // set before the first scan
  // The last valid document. Used by scans only, which never run concurrently.
  mutable std::shared_ptr<const std::string> read_;
  mutable std::vector<Device> devices_;
};

std::vector<std::string> read_command(Fields& fields, std::string_view key) {
  std::vector<std::string> command = fields.texts(key);
  if (command.empty()) {
    fields.error(key, "must be a program and its arguments, as in " + std::string(key) +
                          ": [/usr/lib/superdisk/list]");
  } else {
    check_program(fields, key, command);
  }
  return command;
}

void read_triggers(Fields& exec, ExecSettings& settings) {
  Fields fields = exec.below("triggers");
  settings.subsystems = read_subsystems(fields, "subsystems", "a subsystem is a name such as tty or block");
  for (std::string& path : fields.texts("paths")) {
    if (const std::string error = path_error(path); !error.empty()) fields.error("paths", error);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    settings.paths.emplace_back(std::move(path));
  }
}

void check_attributes(Fields& fields) {
  for (const std::string& name : fields.texts("attributes")) {
    if (!Template::is_name(name))
      fields.error("attributes", quote(name) + " cannot be a placeholder: letters, digits and _ make one");
    else if (std::ranges::find(kTaken, name) != kTaken.end())
      fields.error("attributes", "{" + name + "} has a meaning already");
  }
}

void read_discovery(Fields& fields, ExecSettings& settings) {
  settings.interval = fields.seconds("interval", kInterval, kShortestInterval, kLongestInterval);
  settings.timeout = fields.duration("timeout", kTimeout, kShortestTimeout, kLongestTimeout);
  read_triggers(fields, settings);
}

void read_watch(Fields& fields, ExecSettings& settings) {
  for (const std::string_view key : {"interval", "triggers"}) {
    if (fields.has(key))
      fields.error(key, "this belongs to discover: a watch program decides itself when to print");
  }
  if (fields.has("timeout"))
    settings.timeout = fields.duration("timeout", kLongestSilence, kShortestTimeout, kLongestSilence);
}

std::unique_ptr<const DeviceSource> read_exec(Fields& entry) {
  Fields fields = entry.below("exec");
  ExecSettings settings{.stays = fields.has("watch")};
  if (settings.stays && fields.has("discover"))
    fields.error("watch",
                 "the entry has 'discover' already; one program lists the devices: it is run again "
                 "and again, or it stays");
  const std::vector<std::string> program = read_command(fields, settings.stays ? "watch" : "discover");
  if (!program.empty()) settings.program = program.front();
  settings.command = words_as(read_user(fields));
  settings.as_user = !settings.command.empty();
  settings.command.insert(settings.command.end(), program.begin(), program.end());
  check_attributes(fields);
  if (settings.stays)
    read_watch(fields, settings);
  else
    read_discovery(fields, settings);
  return std::make_unique<ExecSource>(std::move(settings));
}

std::vector<std::string_view> declared(const Node& value) {
  const Node* const names = value.find("attributes");
  if (!names) return {};
  if (names->kind == Node::Kind::kScalar) return {names->scalar};
  std::vector<std::string_view> attributes;
  for (const Node& name : names->items) attributes.push_back(name.scalar);
  return attributes;
}

}  // namespace

Kind exec_kind() { return {.read = read_exec, .declared = declared}; }

}  // namespace plughost
