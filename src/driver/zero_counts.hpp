#pragma once
// Takes the counts of 0 away that a resource leaves on the Node when it moves from the kubelet's lists to a
// pool: with one, schedulers up to Kubernetes 1.35 look for no device in pools. Loop thread only.

#include <memory>
#include <set>
#include <string>

#include "base/backoff.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "platform/node_watch.hpp"

namespace plughost {

// Those of the resources of which the Node has none to give, and says so.
std::set<std::string> zero_counts(const NodeObject& node, const std::set<std::string>& resources);

class ZeroCounts {
 public:
  using Clock = EventLoop::Clock;
  // Between two patches: a kubelet writes the count again until it has forgotten the resource, five minutes
  // after its last list.
  static constexpr std::chrono::milliseconds kPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{10'000};

  // All outlive it. Nothing is asked of the API server before there is a resource.
  ZeroCounts(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node);
  ZeroCounts(const ZeroCounts&) = delete;
  ZeroCounts& operator=(const ZeroCounts&) = delete;

  // All resources that are in pools.
  void follow(std::set<std::string> resources);

 private:
  void look();
  void remove(const NodeObject& node, const std::set<std::string>& counts);
  void on_answer(const std::set<std::string>& counts, const ApiAnswer& answer);

  Log& log_;
  ApiServer& server_;
  NodeWatch& node_;
  std::set<std::string> resources_;
  std::set<std::string> told_;  // that were taken away
  std::string trouble_;         // that was told
  Clock::time_point earliest_{};
  Backoff pause_{kPause, kLongestPause};
  Timer again_;
  Subscription user_;
  std::unique_ptr<Subscription> following_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace plughost
