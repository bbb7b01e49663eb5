#pragma once
// Callbacks that are called on a change. Loop thread only.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace plughost {

class Subscribers {
 public:
  bool empty() const { return subscribers_.empty(); }
  // Calls each subscriber that still exists when its turn comes. A callback may add and remove subscribers;
  // an added subscriber is not called.
  void notify() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, changed] : subscribers_) numbers.push_back(number);
    for (const std::uint64_t number : numbers) {
      const auto found = subscribers_.find(number);
      if (found == subscribers_.end()) continue;
      const auto changed = found->second;  // a copy, because the callback may destroy its own subscription
      changed();
    }
  }

 private:
  friend class Subscription;
  std::map<std::uint64_t, std::function<void()>> subscribers_;
  std::uint64_t next_ = 0;
};

// While this object exists, its callback is subscribed. `subscribers` must outlive this object.
class Subscription {
 public:
  Subscription(Subscribers& subscribers, std::function<void()> changed)
      : subscribers_(subscribers), number_(subscribers.next_++) {
    subscribers_.subscribers_.emplace(number_, std::move(changed));
  }
  ~Subscription() { subscribers_.subscribers_.erase(number_); }
  Subscription& operator=(Subscription&&) = delete;

 private:
  Subscribers& subscribers_;
  std::uint64_t number_;
};

}  // namespace plughost
