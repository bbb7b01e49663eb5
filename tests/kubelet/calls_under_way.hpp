#pragma once
// Counts running calls, so that the objects that calls use are destroyed only after the calls have ended.
// Thread-safe.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace plughost {

class CallsUnderWay {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

}  // namespace plughost
