#pragma once
// A program that a thread waits for. Thread-safe.

#include <mutex>
#include <optional>

#include "base/event_loop.hpp"
#include "programs/program.hpp"

namespace plughost {

class ProgramRun {
 public:
  // Blocks until the program has ended, by itself or by a kill; never much longer than its time-out. One at a
  // time. nullopt: it was stopped. Throws std::system_error if the system has no descriptors to spare.
  std::optional<Ending> run(const Program& program);
  // Ends a run that is under way, and all later ones at once.
  void stop();

 private:
  std::mutex mutex_;
  bool stopped_ = false;
  EventLoop* loop_ = nullptr;  // while one is under way
};

}  // namespace plughost
