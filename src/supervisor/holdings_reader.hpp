#pragma once
// Which containers hold which devices: the kubelet's word, or else its checkpoint's. Loop thread only.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "kubelet/checkpoint_reader.hpp"
#include "kubelet/pod_resources.hpp"

namespace plughost {

class HoldingsReader {
 public:
  using Clock = EventLoop::Clock;
  using Done = std::function<void(const PodResources::Answer& answer)>;
  // What is shown again and again, and nobody acts upon, may be as old as this.
  static constexpr std::chrono::seconds kShown{1};

  // All outlive it.
  HoldingsReader(EventLoop& loop, PodResources& pods, CheckpointReader& checkpoint)
      : loop_(loop), pods_(pods), checkpoint_(checkpoint) {}
  HoldingsReader& operator=(HoldingsReader&&) = delete;

  // Who holds what at that time or later; or, if patience is over before that is known, that it is not.
  // nullopt: for as long as the kubelet and then its checkpoint may take. done runs in the loop, maybe at
  // once; never, if this is gone by then.
  void read(Clock::time_point since, Done done,
            std::optional<std::chrono::milliseconds> patience = std::nullopt);
  // Nobody is to be asked any more: those who wait are told that nothing is known.
  void abandon();

 private:
  using Number = std::uint64_t;
  struct Asker {
    Done done;
    std::optional<Timer> patience;
  };

  void read_checkpoint(Number who, Clock::time_point since, const std::string& why_not_told);
  // Nothing is told to one that has been told already.
  void finish(Number who, const PodResources::Answer& answer);

  EventLoop& loop_;
  PodResources& pods_;
  CheckpointReader& checkpoint_;
  std::map<Number, Asker> waiting_;
  Number next_ = 0;
  Lifetime questions_;  // those that are open
};

}  // namespace plughost
