#pragma once
// The stand-in's state, visible to other threads. Thread-safe.

#include <condition_variable>
#include <mutex>

#include "kubelet/kubelet_state.hpp"

namespace plughost {

class SharedState {
 public:
  // Calls `change(KubeletState&)` under the lock.
  template <typename Change>
  void change(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change(state_);
    }
    changed_.notify_all();
  }
  KubeletState copy() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  // Waits for `predicate(const KubeletState&)`, called under the lock. Returns false after `timeout`.
  template <typename Predicate>
  bool wait_for(Predicate predicate, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return predicate(state_); });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  KubeletState state_;
};

}  // namespace plughost
