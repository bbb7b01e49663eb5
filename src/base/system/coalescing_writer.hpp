#pragma once
// Something outside is to be as it was last asked for: written off the loop, one write at a time, and tried
// again until it is done. Loop thread only.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "base/system/workers.hpp"

namespace plughost {

class CoalescingWriter {
 public:
  // A file system that takes longer hangs.
  static constexpr std::chrono::seconds kDeadline{2};
  static constexpr std::chrono::milliseconds kFirstRetry{1000};
  static constexpr std::chrono::milliseconds kLongestRetry{60'000};

  // Runs on a worker, owns what it uses, and does not throw; says why it could not be done, or nothing.
  using Write = std::function<std::string()>;
  // In the loop: why it is not done yet; empty: it is.
  using Told = std::function<void(const std::string& error)>;

  // changed is called once for each change. hangs: the error of a file system that does. workers outlives
  // it.
  CoalescingWriter(EventLoop& loop, Workers& workers, Told changed,
                   std::string hangs = "the file system hangs",
                   std::chrono::milliseconds deadline = kDeadline);
  CoalescingWriter& operator=(CoalescingWriter&&) = delete;

  // Takes the place of what has not begun yet. told: once, within some seconds, maybe at once.
  void write(Write write, Told told = nullptr);
  // done runs in the loop when what was asked for is done, fails or hangs; maybe at once. It is not tried
  // again from now on.
  void finish(std::function<void()> done);

 private:
  void start();
  void on_written(const std::string& error);
  void on_overdue();
  void end();
  void record_error(const std::string& error);
  // Those who wait for what is or was being written.
  void answer(const std::string& error);

  Workers& workers_;
  const Told changed_;
  const std::string hangs_;
  const std::chrono::milliseconds deadline_;
  Write newest_;
  std::vector<Told> waiting_;   // for it
  std::vector<Told> answered_;  // by what is being written
  bool newer_ = false;          // than what is being written
  bool busy_ = false;
  bool hung_ = false;  // for longer than the deadline
  std::string error_;
  std::function<void()> done_;  // of finish
  bool finishing_ = false;
  Backoff pause_{kFirstRetry, kLongestRetry};
  Timer retry_;
  Lifetime lifetime_;
};

}  // namespace plughost
