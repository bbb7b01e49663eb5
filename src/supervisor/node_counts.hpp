#pragma once
// What is to be written of the counts that the node shows of its cards, and when. A value that is told the
// time; not thread-safe.

#include <chrono>
#include <set>
#include <string>

#include "apiserver/api_request.hpp"
#include "base/backoff.hpp"
#include "device/node_resources.hpp"

namespace plughost {

class NodeCounts {
 public:
  using Clock = std::chrono::steady_clock;
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

}  // namespace plughost
