#pragma once
// Which containers hold which devices, for whoever wants to know now: the kubelet's word, or else its
// checkpoint's. Loop thread only.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/lifetime.hpp"
#include "kubelet/pod_resources.hpp"
#include "supervisor/kubelet_link.hpp"

namespace plughost {

class HoldingsReader {
 public:
  using Done = std::function<void(const PodResources::Answer& answer)>;

  // workers outlive it.
  explicit HoldingsReader(Workers& workers) : workers_(workers) {}
  HoldingsReader(const HoldingsReader&) = delete;
  HoldingsReader& operator=(const HoldingsReader&) = delete;

  // What was learned within the last PodResources::kPause is told again. done runs in the loop, maybe at
  // once.
  void read(KubeletLink& link, Done done);
  // The link that was asked is gone: those who wait are told that nothing is known.
  void abandon();

 private:
  void read_checkpoint(const std::filesystem::path& file, const std::string& why_not_told);
  void finish(PodResources::Answer answer);

  Workers& workers_;
  std::vector<Done> waiting_;
  PodResources::Answer last_;
  EventLoop::Clock::time_point learned_at_ = EventLoop::Clock::time_point::min();
  Lifetime question_;  // the one that is open
};

}  // namespace plughost
