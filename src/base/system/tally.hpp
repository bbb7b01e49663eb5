#pragma once
// Counters and latency histograms that are cheap enough for every call. Thread-safe.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace plughost {

class Counter {
 public:
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

class Durations {
 public:
  // Upper bounds in seconds, from the cost of a call to the longest wait of a pod's start. Longer durations
  // count in one more bucket.
  static constexpr std::array kBounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                      0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};
  struct Reading {
    std::array<std::uint64_t, kBounds.size() + 1> counts{};  // per bucket, not cumulative
    double sum = 0;                                          // in seconds
  };

  void add(std::chrono::nanoseconds took) {
    const double seconds = std::chrono::duration<double>(took).count();
    std::size_t place = 0;
    while (place < kBounds.size() && seconds > kBounds[place]) ++place;
    counts_[place].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
  }

  Reading read() const {
    Reading reading{.sum = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / 1e9};
    for (std::size_t i = 0; i < counts_.size(); ++i)
      reading.counts[i] = counts_[i].load(std::memory_order_relaxed);
    return reading;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

}  // namespace plughost
