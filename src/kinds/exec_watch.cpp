#include "kinds/exec_watch.hpp"

#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/backoff.hpp"
#include "kinds/exec_document.hpp"

namespace plughost {
namespace {

using Clock = EventLoop::Clock;

// Who says nothing for so long after its start never will.
constexpr std::chrono::milliseconds kFirstLine = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kFirstPause = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(1);
// The end of one that has run for so long was no accident of its start.
constexpr std::chrono::seconds kSettled{10};

struct WatchSettings {
  ExecProgram program;
  std::optional<std::chrono::milliseconds> timeout;
};

// What a program has said last. Thread-safe: the loop writes it, and scans read it.
class Newest {
 public:
  struct Said {
    std::shared_ptr<const std::string> line;  // the document; nullptr: there was none yet
    std::string errors;                       // ": " and the last line of its standard error then
    std::string trouble;                      // why the line may not be true any more; empty: it is
  };

  Said get() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  void take_line(std::string_view line, std::string errors) {
    auto copy = std::make_shared<const std::string>(line);
    const std::lock_guard lock(mutex_);
    said_ = {.line = std::move(copy), .errors = std::move(errors), .trouble = {}};
  }
  void take_trouble(std::string trouble) {
    const std::lock_guard lock(mutex_);
    said_.trouble = std::move(trouble);
  }

 private:
  mutable std::mutex mutex_;
  Said said_;
};

// Runs the program, and starts it again whenever it has ended. Loop thread only.
class WatchProgram final : public SourceWatch {
 public:
  WatchProgram(EventLoop& loop, WatchSettings settings, std::shared_ptr<Newest> newest,
               std::function<void()> hint)
      : loop_(loop),
        settings_(std::move(settings)),
        newest_(std::move(newest)),
        hint_(std::move(hint)),
        start_(loop, [this] { start(); }) {
    start();
  }

 private:
  void start() {
    started_ = Clock::now();
    silent_ = false;
    Program program = settings_.program.program();
    program.on_line = [this](std::string_view line) { on_line(line); };
    process_.emplace(
        loop_, program, settings_.timeout.value_or(kFirstLine),
        [this](const Subprocess::Result& result) { on_end(result); }, [this] { on_silence(); });
  }

  void on_line(std::string_view line) {
    process_->extend(settings_.timeout ? Clock::duration(*settings_.timeout) : Subprocess::kForEver);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;  // a sign of life
    newest_->take_line(line, last_words(process_->errors()));
    hint_();
  }

  // It was killed; only when it has ended another is started.
  void on_silence() {
    silent_ = true;
    const auto limit = settings_.timeout.value_or(kFirstLine);
    fail("the program was killed: it said nothing for " + std::to_string(limit.count()) + " ms" +
         last_words(process_->errors()));
  }

  void on_end(const Subprocess::Result& result) {
    if (!silent_) {
      std::string why = why_ended(result);
      if (why.empty()) why = "the program, which was to stay, has ended" + last_words(result.errors);
      if (!result.output.empty() && !result.excess) why += " (in the middle of a line)";
      fail(std::move(why));
    }
    if (Clock::now() - started_ >= kSettled) pause_.reset();
    start_.arm(pause_.next());
  }

  void fail(std::string why) {
    newest_->take_trouble(std::move(why));
    hint_();
  }

  EventLoop& loop_;
  WatchSettings settings_;
  std::shared_ptr<Newest> newest_;
  std::function<void()> hint_;
  Clock::time_point started_;
  bool silent_ = false;  // and killed for that
  Backoff pause_{kFirstPause, kLongestPause};
  std::optional<Subprocess> process_;  // the one that runs, or the last one
  Timer start_;
};

class ExecWatch final : public DeviceSource {
 public:
  explicit ExecWatch(WatchSettings settings) : settings_(std::move(settings)) {}

  Scan scan(const HostRoot&) const override {
    const Newest::Said said = watched_ ? newest_->get() : first_word();
    Scan scan;
    if (!said.line && said.trouble.empty()) {
      scan.undecided = true;
      return scan;
    }
    read(said);
    scan.devices = devices_;
    if (said.trouble.empty()) return scan;
    scan.remarks.push_back(said.trouble);
    for (Device& device : scan.devices) {
      if (device.healthy()) device.trouble = said.trouble;
    }
    return scan;
  }

  std::unique_ptr<SourceWatch> watch(EventLoop& loop, const std::function<void()>& hint) const override {
    watched_ = true;
    return std::make_unique<WatchProgram>(loop, settings_, newest_, hint);
  }
  bool ends_by_itself() const override { return true; }

 private:
  // For a look without a daemon: the program runs until it has said something.
  Newest::Said first_word() const {
    EventLoop loop;
    const auto newest = std::make_shared<Newest>();
    const WatchProgram program(loop, settings_, newest, [&loop] { loop.stop(); });
    loop.run();
    return newest->get();
  }

  // Makes devices_ those of the line, or leaves them as they were where its end is the greater trouble.
  void read(const Newest::Said& said) const {
    if (said.line && said.line != read_) {
      try {
        devices_ = read_exec_document(*said.line);
        read_ = said.line;
      } catch (const DocumentError& error) {
        if (said.trouble.empty())
          throw std::runtime_error("what the program printed cannot be used: " + std::string(error.what()) +
                                   said.errors);
      }
    }
    if (!read_) throw std::runtime_error(said.trouble);
  }

  WatchSettings settings_;
  std::shared_ptr<Newest> newest_ = std::make_shared<Newest>();
  mutable bool watched_ = false;  // set before the first scan
  // Of the last line that could be read. Scans' alone: no two run at once.
  mutable std::shared_ptr<const std::string> read_;
  mutable std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<const DeviceSource> exec_watch(ExecProgram program,
                                               std::optional<std::chrono::milliseconds> timeout) {
  return std::make_unique<ExecWatch>(WatchSettings{.program = std::move(program), .timeout = timeout});
}

}  // namespace plughost
