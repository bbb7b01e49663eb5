#pragma once
// Measures how long another process's event loop is held: its thread's CPU time between two waits.

#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <stop_token>
#include <thread>

namespace plughost::bench {

// Samples /proc from its own thread every 0.2 ms, which is also its precision. Two tasks of the loop without
// a wait between them count as one hold.
class LoopWatch {
 public:
  // The main thread of `process` must run the loop.
  explicit LoopWatch(pid_t process);

  // Returns the longest hold since the construction or the last call, in ms.
  double take_longest_ms();

 private:
  // Measures one hold, from the wait before it to the wait after it.
  void follow_one(const std::stop_token& stop);

  const std::filesystem::path task_;
  std::mutex mutex_;
  double longest_ms_ = 0;
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace plughost::bench
