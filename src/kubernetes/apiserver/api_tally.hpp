#pragma once
// Counters of requests to the API server, and the state of watches. Thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost {

class ApiTally {
 public:
  using Clock = std::chrono::steady_clock;

  struct Requests {
    std::string verb;  // "list"
    int code = 0;      // 0: there was no answer
    std::uint64_t count = 0;
  };
  struct Watched {
    std::string collection;                  // "/api/v1/pods"
    bool listed = false;                     // the objects are known
    std::uint64_t objects = 0;               // number of matching objects, as far as known
    std::optional<Clock::time_point> heard;  // the server's last message about it; nullopt: no message yet
    std::string error;                       // empty: healthy
  };
  struct Reading {
    std::vector<Requests> requests;
    std::vector<Watched> watches;
  };

  void add(std::string_view verb, int code) {
    const std::lock_guard lock(mutex_);
    ++requests_[{std::string(verb), code}];
  }
  // Stores the state of a watch, and returns its number. `number` is 0 for a new watch.
  std::uint64_t watch(std::uint64_t number, Watched now) {
    const std::lock_guard lock(mutex_);
    if (number == 0) number = ++last_watch_;
    watches_[number] = std::move(now);
    return number;
  }
  void forget(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    watches_.erase(number);
  }
  Reading read() const {
    const std::lock_guard lock(mutex_);
    Reading reading;
    for (const auto& [key, count] : requests_)
      reading.requests.push_back({.verb = key.first, .code = key.second, .count = count});
    for (const auto& [number, watched] : watches_) reading.watches.push_back(watched);
    return reading;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::uint64_t, Watched> watches_;
  std::uint64_t last_watch_ = 0;
};

}  // namespace plughost
