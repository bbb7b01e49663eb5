#pragma once
// A job that may block, such as reading a file, and the callers that wait for its result. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"

namespace plughost {

template <typename Value>
class SharedJob {
 public:
  using Result = std::variant<Value, std::string>;              // or why there is no value, as a sentence
  using Ready = std::function<void(const std::string& error)>;  // empty: there is a value

  // `workers` must outlive this object. A job that exceeds the deadline counts as stalled.
  SharedJob(Workers& workers, std::chrono::milliseconds deadline) : workers_(workers), deadline_(deadline) {}
  SharedJob& operator=(SharedJob&&) = delete;

  // Runs `body` on a worker, then calls `take` with the value, and `ready`, in the loop. If a job is running
  // already, only waits for that job, and then calls `ready`. `body` may outlive this object and must not
  // throw. While a job stalls, each caller's `ready` gets `stalled` at once; `take` still gets the late
  // value. At most one worker is blocked.
  void run(std::function<Result()> body, std::function<void(Value)> take, const std::string& stalled,
           Ready ready) {
    if (stalls_) return ready(stalled);
    waiting_.push_back(std::move(ready));
    if (std::exchange(running_, true)) return;
    const auto result = std::make_shared<Result>();
    const auto done = [this, result, take = std::move(take)] {
      running_ = stalls_ = false;
      const std::vector<Ready> waiting = std::exchange(waiting_, {});  // take may start the next job
      if (result->index() == 0) take(std::move(std::get<0>(*result)));
      for (const Ready& each : waiting) each(result->index() == 0 ? "" : std::get<1>(*result));
    };
    const auto overdue = [this, stalled] {
      stalls_ = true;
      end(stalled);
    };
    workers_.run([result, body = std::move(body)] { *result = body(); }, lifetime_.bound(done), deadline_,
                 lifetime_.bound(overdue));
  }

  // Ignores the result of the running job. Its callers get `error`.
  void abandon(const std::string& error) {
    lifetime_.renew();
    running_ = stalls_ = false;
    end(error);
  }

 private:
  void end(const std::string& error) {
    for (const Ready& each : std::exchange(waiting_, {})) each(error);
  }

  Workers& workers_;
  const std::chrono::milliseconds deadline_;
  bool running_ = false;
  bool stalls_ = false;
  std::vector<Ready> waiting_;
  Lifetime lifetime_;
};

}  // namespace plughost
