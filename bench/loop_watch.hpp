#pragma once
// How long the loop of another process is held, as its thread's CPU time between two waits.

#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <stop_token>
#include <thread>

namespace plughost::bench {

// Samples /proc from a thread of its own, every 0.2 ms: that is how exact it is. Two jobs of the loop without
// a wait between them count as one.
class LoopWatch {
 public:
  // process: its main thread runs the loop.
  explicit LoopWatch(pid_t process);

  // Returns the longest hold since the construction or the last call, in ms.
  double take_longest_ms();

 private:
  // Follows one hold, from the wait before it to the wait after it.
  void follow_one(const std::stop_token& stop);

  const std::filesystem::path task_;
  std::mutex mutex_;
  double longest_ms_ = 0;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace plughost::bench
