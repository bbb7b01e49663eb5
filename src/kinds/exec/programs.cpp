#include "kinds/exec/programs.hpp"

#include <string_view>

#include "base/rate.hpp"
#include "programs/program.hpp"
#include "programs/subprocess.hpp"

namespace plughost {
namespace {

// Who says nothing for so long after its start never will.
constexpr std::chrono::milliseconds kFirstLine = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kFirstPause = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(1);
// The end of one that has run for so long was no accident of its start.
constexpr std::chrono::seconds kSettled{10};

class Discovery final : public SourceWatch {
 public:
  Discovery(Programs& programs, Program program, std::shared_ptr<Newest> newest)
      : queue_(programs, Purpose::kList), program_(std::move(program)), newest_(std::move(newest)) {}

  void before_scan(const std::function<void()>& then) override {
    if (lives_) return then();  // and what was said when it was killed is so
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
    if (std::string why = why_failed({}, ending); !why.empty())
      newest_->take_trouble(std::move(why));
    else
      newest_->take_document(ending.output, last_words(ending.errors));
  }

  ProgramQueue queue_;
  Program program_;
  std::shared_ptr<Newest> newest_;
  bool lives_ = false;                 // although it was killed
  std::optional<Subprocess> process_;  // the one that runs, or the last one
};

class StayingProgram final : public SourceWatch {
 public:
  StayingProgram(Programs& programs, Program program, std::optional<std::chrono::milliseconds> timeout,
                 std::shared_ptr<Newest> newest, std::function<void()> hint)
      : queue_(programs, Purpose::kStay),
        program_(std::move(program)),
        timeout_(timeout),
        newest_(std::move(newest)),
        hint_(std::move(hint)),
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
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;  // a sign of life
    newest_->take_document(std::string(line), last_words(process_->errors()));
    hint_();
  }

  void on_end(const Ending& ending) {
    std::string why = why_failed({.late = ": it said nothing for "}, ending);
    if (why.empty()) why = "the program, which was to stay, has ended" + last_words(ending.errors);
    const bool lives = ending.how == Ending::How::kOverdue;
    if (!lives && !ending.output.empty() && !ending.excess) why += " (in the middle of a line)";
    newest_->take_trouble(std::move(why));
    hint_();
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
  std::function<void()> hint_;
  EventLoop::Clock::time_point started_;
  Backoff pause_{kFirstPause, kLongestPause};
  std::optional<Subprocess> process_;  // the one that runs, or the last one
  Timer start_;
};

}  // namespace

std::unique_ptr<SourceWatch> run_before_scans(Programs& programs, Program program,
                                              std::shared_ptr<Newest> newest) {
  return std::make_unique<Discovery>(programs, std::move(program), std::move(newest));
}

std::unique_ptr<SourceWatch> keep_running(Programs& programs, Program program,
                                          std::optional<std::chrono::milliseconds> timeout,
                                          std::shared_ptr<Newest> newest, std::function<void()> hint) {
  return std::make_unique<StayingProgram>(programs, std::move(program), timeout, std::move(newest),
                                          std::move(hint));
}

}  // namespace plughost
