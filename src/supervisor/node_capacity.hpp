#pragma once
// Keeps the counts of cards true that our Node shows beside what the kubelet counts. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apiserver/node_watch.hpp"
#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "device/inventory.hpp"
#include "supervisor/node_counts.hpp"

namespace plughost {

class NodeCapacity {
 public:
  // The same counts, written again because the node showed others, are told so often.
  static constexpr std::chrono::seconds kTellAgain{60};

  // An entry with counts.
  struct Subject {
    std::span<const NodeResourceRecipe> counts;
    std::vector<Inventory> lists;
    bool settled = false;  // else its cards are not known yet
  };

  // All outlive it. Nothing is asked of the API server before there is something to count. again: the pauses
  // after a patch that failed.
  NodeCapacity(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node,
               Backoff again = NodeCounts::kPauses);
  NodeCapacity& operator=(NodeCapacity&&) = delete;

  // All of them, as they are now. What an entry counted that is gone becomes 0.
  void follow(const std::vector<Subject>& subjects);
  // done is called later, once: when the node shows what it should, at once if our Node cannot be known, or
  // after limit. A second one takes the place of the first.
  void settle(std::chrono::milliseconds limit, std::function<void()> done);

  // Is there nothing of ours on the node?
  bool idle() const { return counts_.empty(); }

 private:
  void look();
  void write(const NodeObject& node, NodeResources resources);
  void on_answer(const NodeResources& resources, const ApiAnswer& answer);
  void on_other_server();
  void tell_settled();
  void tell(const std::string& trouble);
  void tell_written(const NodeResources& resources);

  Log& log_;
  ApiServer& server_;
  NodeWatch& node_;
  NodeCounts counts_;
  std::string trouble_;  // that was told
  NodeResources told_;   // were told to be written
  NodeCounts::Clock::time_point told_at_{};
  std::function<void()> done_;  // of settle()
  Timer again_;
  Timer limit_;
  Subscription user_;
  std::unique_ptr<Subscription> following_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace plughost
