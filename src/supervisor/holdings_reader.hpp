#pragma once
// Which containers hold which devices: the kubelet's word, or else its checkpoint's. Loop thread only.

#include <functional>
#include <list>
#include <string>

#include "base/lifetime.hpp"
#include "kubelet/pod_resources.hpp"
#include "supervisor/checkpoint_reader.hpp"

namespace plughost {

class HoldingsReader {
 public:
  using Clock = EventLoop::Clock;
  using Done = std::function<void(const PodResources::Answer& answer)>;
  // What is shown again and again, and nobody acts upon, may be as old as this.
  static constexpr std::chrono::seconds kShown{1};

  // Both outlive it.
  HoldingsReader(PodResources& pods, CheckpointReader& checkpoint) : pods_(pods), checkpoint_(checkpoint) {}
  HoldingsReader(const HoldingsReader&) = delete;
  HoldingsReader& operator=(const HoldingsReader&) = delete;

  // Who holds what at that time or later. done runs in the loop, maybe at once; never, if this is gone by
  // then.
  void read(Clock::time_point since, Done done);
  // Nobody is to be asked any more: those who wait are told that nothing is known.
  void abandon();

 private:
  using Waiting = std::list<Done>;

  void read_checkpoint(Waiting::iterator who, Clock::time_point since, const std::string& why_not_told);
  void finish(Waiting::iterator who, const PodResources::Answer& answer);

  PodResources& pods_;
  CheckpointReader& checkpoint_;
  Waiting waiting_;
  Lifetime questions_;  // those that are open
};

}  // namespace plughost
