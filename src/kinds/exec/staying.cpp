#include "kinds/exec/staying.hpp"

#include <utility>

#include "programs/program.hpp"

namespace plughost {
namespace {

// Who says nothing for so long after its start never will.
constexpr std::chrono::milliseconds kFirstLine = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kFirstPause = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(1);
// The end of one that has run for so long was no accident of its start.
constexpr std::chrono::seconds kSettled{10};

}  // namespace

StayingProgram::StayingProgram(Programs& programs, Program program,
                               std::optional<std::chrono::milliseconds> timeout,
                               std::shared_ptr<Newest> newest, std::function<void()> hint)
    : loop_(programs.loop()),
      queue_(programs, Purpose::kStay),
      program_(std::move(program)),
      timeout_(timeout),
      newest_(std::move(newest)),
      hint_(std::move(hint)),
      pause_(kFirstPause, kLongestPause),
      start_(loop_, [this] { start(); }) {
  program_.timeout = timeout_.value_or(kFirstLine);
  program_.on_line = [this](std::string_view line) { on_line(line); };
  start();
}

void StayingProgram::start() {
  started_ = EventLoop::Clock::now();
  process_.emplace(
      queue_, program_, [this](const Ending& ending) { on_end(ending); }, [this] { restart(); });
}

void StayingProgram::on_line(std::string_view line) {
  process_->extend(timeout_.value_or(Program::kForEver));
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;  // a sign of life
  newest_->take_document(std::string(line), last_words(process_->errors()));
  hint_();
}

void StayingProgram::on_end(const Ending& ending) {
  std::string why = why_failed({.late = ": it said nothing for "}, ending);
  if (why.empty()) why = "the program, which was to stay, has ended" + last_words(ending.errors);
  const bool lives = ending.how == Ending::How::kOverdue;
  if (!lives && !ending.output.empty() && !ending.excess) why += " (in the middle of a line)";
  fail(std::move(why));
  if (!lives) restart();
}

void StayingProgram::restart() {
  if (EventLoop::Clock::now() - started_ >= kSettled) pause_.reset();
  start_.arm(pause_.next());
}

void StayingProgram::fail(std::string why) {
  newest_->take_trouble(std::move(why));
  hint_();
}

}  // namespace plughost
