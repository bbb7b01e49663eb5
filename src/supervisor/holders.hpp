#pragma once
// Which containers hold which devices, for whoever wants to know now. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/pod_resources.hpp"
#include "supervisor/node_link.hpp"

namespace plughost {

class Holders {
 public:
  using Done = std::function<void(const PodResources::Answer& answer)>;

  // workers outlive it.
  explicit Holders(Workers& workers) : workers_(workers) {}
  Holders(const Holders&) = delete;
  Holders& operator=(const Holders&) = delete;

  // Asks the kubelet, and where it does not tell, reads its checkpoint. What was learned within the last
  // PodResources::kPause is told again, at once.
  void ask(NodeLink& link, Done done);
  // The link that was asked is gone: those who wait are told that nothing is known.
  void abandon();

 private:
  void read_checkpoint(const std::filesystem::path& file, const std::string& why_not_told);
  void finish(PodResources::Answer answer);

  Workers& workers_;
  std::vector<Done> waiting_;
  PodResources::Answer last_;
  EventLoop::Clock::time_point learned_at_ = EventLoop::Clock::time_point::min();
  std::shared_ptr<const bool> question_;  // the one that is open
};

}  // namespace plughost
