#pragma once
// Publishes counts of cards as extended resources of the Node.

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/node_watch.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Computes which counts must be written to the Node, and when. A value; callers pass the time. Not
// thread-safe.
class NodeCounts {
 public:
  using Clock = LoopClock;
  // Pause between patches, even if another writer uses the same keys, and the first pause after a failure.
  static constexpr std::chrono::seconds kPause{1};
  static constexpr Backoff kPauses{kPause, std::chrono::seconds(60)};

  explicit NodeCounts(Backoff again = kPauses) : again_(again) {}

  struct Patch {
    NodeResources resources;  // empty: the node shows the wanted counts
    Clock::time_point at;     // earliest time for the patch
  };

  // `counted` has the counts of entries whose cards are known; `unknown` has the keys of the other entries,
  // which stay unchanged because a former process may have written them. A key that is no longer in `counted`
  // or `unknown` is set to 0, and is forgotten once the node shows 0.
  void want(const NodeResources& counted, const std::set<std::string>& unknown);
  // Makes a pending patch due immediately.
  void hurry() { earliest_ = {}; }
  // Returns true if no count is maintained, now or once the cards are known.
  bool empty() const { return wanted_.empty() && unknown_.empty(); }

  // Call it when the node's capacity has been received, which includes all earlier patches that are not lost.
  void on_node() { written_.clear(); }
  // Call it when the API server has answered again: an unanswered patch becomes due.
  void on_server();
  // Returns the patch that is needed while the node shows `shown`.
  Patch next(Capacity shown);
  // Records that a patch succeeded.
  void written(const NodeResources& resources, Clock::time_point now);
  void failed(const ApiAnswer& answer, Clock::time_point now);
  // Drops all state, because the API server or the node has changed.
  void forget();

 private:
  NodeResources wanted_;
  std::set<std::string> leaving_;  // keys of wanted_ that no entry counts any more
  std::set<std::string> unknown_;
  NodeResources written_;  // counts written since the capacity was last received
  Clock::time_point earliest_{};
  bool unanswered_ = false;  // the last patch got no answer
  Backoff again_;
};

// Maintains counts of cards on the Node, beside the kubelet's resources. Loop thread only.
class NodeCapacity {
 public:
  // Period in which rewriting unchanged counts is logged once.
  static constexpr std::chrono::seconds kTellAgain{60};

  struct Subject {
    std::span<const NodeResourceSpec> counts;
    std::vector<Inventory> lists;
    bool settled = false;  // false: the entry's cards are not known yet
  };

  // The arguments must outlive this object. The API server is not contacted before there is something to
  // count. `again` sets the pauses after a failed patch.
  NodeCapacity(EventLoop& loop, Log& log, ApiServer& server, NodeWatch& node,
               Backoff again = NodeCounts::kPauses);
  NodeCapacity& operator=(NodeCapacity&&) = delete;

  // Replaces the subjects. Pass every entry with counts. The counts of a removed entry become 0.
  void follow(const std::vector<Subject>& subjects);
  // Calls `done` later, once: when the node shows the wanted counts, when the Node cannot be known, or after
  // `limit`. A second call replaces the first.
  void settle(std::chrono::milliseconds limit, std::function<void()> done);

  // Drops the `done` of a settle() that has not ended.
  void abandon_settling() {
    done_ = nullptr;
    limit_.cancel();
  }

  // Returns true if the node shows no counts from this process.
  bool idle() const { return counts_.empty(); }

 private:
  void update();
  void write(const NodeObject& node, NodeResources resources);
  void on_answer(const NodeResources& resources, const ApiAnswer& answer);
  void on_other_server();
  void end_settling();
  void log_error(const std::string& error);
  void log_written(const NodeResources& resources);

  Log& log_;
  ApiServer& server_;
  NodeWatch& node_;
  NodeCounts counts_;
  std::string error_;   // last error logged
  NodeResources told_;  // counts whose writing was logged last
  NodeCounts::Clock::time_point told_at_{};
  std::function<void()> done_;  // argument of settle()
  Timer again_;
  Timer limit_;
  Subscription user_;
  std::unique_ptr<Subscription> following_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace plughost
