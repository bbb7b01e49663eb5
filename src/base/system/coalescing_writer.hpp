#pragma once
// Writes the newest requested value to a file or to other external state: on a worker, one write at a time,
// with retries until the newest write has succeeded. Loop thread only.

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
  // A write that takes longer counts as stalled.
  static constexpr std::chrono::seconds kDeadline{2};
  static constexpr std::chrono::milliseconds kFirstRetry{1000};
  static constexpr std::chrono::milliseconds kLongestRetry{60'000};

  // Runs on a worker, must own what it uses and must not throw. Returns an error, or "" on success.
  using Write = std::function<std::string()>;
  // Runs in the loop. `error` is why the value is not written yet; empty if it is written.
  using Told = std::function<void(const std::string& error)>;

  // Calls `changed` whenever the error changes. `hangs` is the error of a stalled write. `workers` must
  // outlive this object.
  CoalescingWriter(EventLoop& loop, Workers& workers, Told changed,
                   std::string hangs = "the file system hangs",
                   std::chrono::milliseconds deadline = kDeadline);
  CoalescingWriter& operator=(CoalescingWriter&&) = delete;

  // Replaces a requested write that has not begun. `told` is called once, within some seconds, possibly
  // before this function returns.
  void write(Write write, Told told = nullptr);
  // `done` runs in the loop when the newest write has succeeded, failed or stalled; possibly before finish()
  // returns. From the call on, failed writes are not retried.
  void finish(std::function<void()> done);
  // Returns true if the newest value is written.
  bool written() const { return !busy_ && !newer_ && error_.empty(); }

 private:
  void start();
  void on_written(const std::string& error);
  void on_overdue();
  void end();
  void record_error(const std::string& error);
  // Calls the waiters of the write that has ended or stalled.
  void answer(const std::string& error);

  Workers& workers_;
  const Told changed_;
  const std::string hangs_;
  const std::chrono::milliseconds deadline_;
  Write newest_;
  std::vector<Told> waiting_;   // waiters for newest_
  std::vector<Told> answered_;  // waiters for the write in progress
  bool newer_ = false;          // newest_ is newer than the write in progress
  bool busy_ = false;
  bool hung_ = false;  // the write in progress has exceeded the deadline
  std::string error_;
  std::function<void()> done_;  // the callback of finish()
  bool finishing_ = false;
  Backoff pause_{kFirstRetry, kLongestRetry};
  Timer retry_;
  Lifetime lifetime_;
};

}  // namespace plughost
