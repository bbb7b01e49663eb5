#pragma once
// A program that a thread waits for. Thread-safe.

#include <mutex>
#include <optional>

#include "base/event_loop.hpp"
#include "base/subprocess.hpp"

namespace plughost {

class ProgramRun {
 public:
  struct Outcome {
    enum class End {
      kEnded,
      kOverdue,  // it was killed
      kStopped,  // nobody waits for it any more, and it was killed
    };
    End end = End::kStopped;
    Subprocess::Result result;
  };

  // Blocks until the program has ended, by itself or by a kill; never much longer than the deadline. One at a
  // time. Throws std::system_error if the system has no descriptors to spare.
  Outcome run(const Program& program, EventLoop::Clock::duration deadline);
  // Ends a run that is under way, and all later ones at once.
  void stop();

 private:
  std::mutex mutex_;
  bool stopped_ = false;
  EventLoop* loop_ = nullptr;  // while one is under way
};

}  // namespace plughost
