#pragma once
// `watch`: a program that stays, and prints a document in a line whenever something has changed. Loop thread
// only. Internal to exec.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/rate.hpp"
#include "kinds/exec/newest.hpp"
#include "kinds/kind.hpp"
#include "programs/subprocess.hpp"

namespace plughost {

// Runs the program, and starts it again whenever it has ended.
class StayingProgram final : public SourceWatch {
 public:
  // timeout: the longest silence of a program that is well; nullopt: it may be silent for ever. hint is
  // called when newest has something new. programs outlives it.
  StayingProgram(Programs& programs, Program program, std::optional<std::chrono::milliseconds> timeout,
                 std::shared_ptr<Newest> newest, std::function<void()> hint);

 private:
  void start();
  void on_line(std::string_view line);
  void on_end(const Ending& ending);
  void restart();
  void fail(std::string why);

  EventLoop& loop_;
  ProgramQueue queue_;
  Program program_;
  std::optional<std::chrono::milliseconds> timeout_;
  std::shared_ptr<Newest> newest_;
  std::function<void()> hint_;
  EventLoop::Clock::time_point started_;
  Backoff pause_;
  std::optional<Subprocess> process_;  // the one that runs, or the last one
  Timer start_;
};

}  // namespace plughost
