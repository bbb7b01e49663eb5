#include "loop_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

namespace plughost::bench {
namespace {

using namespace std::chrono_literals;

struct Sample {
  std::uint64_t ran_ns = 0;
  std::uint64_t waits = 0;
};

Sample sample_of(const std::filesystem::path& task) {
  Sample sample;
  const std::string name = "voluntary_ctxt_switches:";
  std::ifstream(task / "schedstat") >> sample.ran_ns;
  std::ifstream status(task / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) sample.waits = std::stoull(line.substr(name.size()));
  }
  return sample;
}

}  // namespace

LoopWatch::LoopWatch(pid_t process)
    : task_(std::filesystem::path("/proc") / std::to_string(process) / "task" / std::to_string(process)),
      thread_([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) follow_one(stop);
      }) {}

double LoopWatch::take_longest_ms() {
  const std::lock_guard lock(mutex_);
  return std::exchange(longest_ms_, 0);
}

void LoopWatch::follow_one(const std::stop_token& stop) {
  const Sample begin = sample_of(task_);
  for (Sample now = begin; now.waits == begin.waits && !stop.stop_requested(); now = sample_of(task_)) {
    {
      const std::lock_guard lock(mutex_);
      longest_ms_ = std::max(longest_ms_, static_cast<double>(now.ran_ns - begin.ran_ns) / 1e6);
    }
    std::this_thread::sleep_for(200us);
  }
}

}  // namespace plughost::bench
