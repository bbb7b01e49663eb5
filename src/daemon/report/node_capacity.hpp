#pragma once
// Counts of cards that the node shows.

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

// What is to be written of the counts that the node shows of its cards, and when. A value that is told the
// time; not thread-safe.
class NodeCounts {
 public:
  using Clock = LoopClock;
  // From one patch to the next, whoever else writes the same keys; and after one that failed.
  static constexpr std::chrono::seconds kPause{1};
  static constexpr Backoff kPauses{kPause, std::chrono::seconds(60)};

  explicit NodeCounts(Backoff again = kPauses) : again_(again) {}

  struct Patch {
    NodeResources resources;  // empty: the node shows what it should
    Clock::time_point at;     // not before
  };

  // counted: of the entries whose cards are known. unknown: keys of the others, which stay as they are: a
  // former process may have written them. What was in either and is in neither now is to be 0, and forgotten
  // when the node shows it.
  void want(const NodeResources& counted, const std::set<std::string>& unknown);
  // What is due is due now.
  void hurry() { earliest_ = {}; }
  // Is there nothing to keep true, now or once the cards are known?
  bool empty() const { return wanted_.empty() && unknown_.empty(); }

  // The node has told its capacity. What was written lately is in it or is not.
  void on_node() { written_.clear(); }
  // The API server is heard: what it left without an answer is due now.
  void on_server();
  // What is to be written while the node shows this.
  Patch next(Capacity shown);
  // How the writing of resources ended.
  void written(const NodeResources& resources, Clock::time_point now);
  void failed(const ApiAnswer& answer, Clock::time_point now);
  // Another API server, or another node: nothing is known of it.
  void forget();

 private:
  NodeResources wanted_;
  std::set<std::string> leaving_;  // of these: those that no entry counts any more
  std::set<std::string> unknown_;
  NodeResources written_;  // since the node told its capacity last
  Clock::time_point earliest_{};
  bool unanswered_ = false;  // the last patch
  Backoff again_;
};

// Keeps the counts of cards true that our Node shows beside what the kubelet counts. Loop thread only.
class NodeCapacity {
 public:
  // The same counts, written again because the node showed others, are told so often.
  static constexpr std::chrono::seconds kTellAgain{60};

  // An entry with counts.
  struct Subject {
    std::span<const NodeResourceSpec> counts;
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

  // Drops the `done` of a settle() that has not called it.
  void abandon_settling() {
    done_ = nullptr;
    limit_.cancel();
  }

  // Is there nothing of ours on the node?
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
  std::string error_;   // that was told
  NodeResources told_;  // were told to be written
  NodeCounts::Clock::time_point told_at_{};
  std::function<void()> done_;  // of settle()
  Timer again_;
  Timer limit_;
  Subscription user_;
  std::unique_ptr<Subscription> following_;
  std::unique_ptr<ApiCall> call_;
};

}  // namespace plughost
