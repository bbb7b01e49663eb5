#pragma once
// Compares the devices that the kubelet counts with the list that it was sent.
//
// An open stream shows that a kubelet reads, not that it counts the devices: a kubelet up to 1.36 can keep
// the stream after it has dropped the resource, and then no pod is ever scheduled again. The pod resources
// API reports which devices the kubelet would allocate. This is compared with the sent list, after each
// change and once a minute. A difference of 5 s causes a new registration; earlier, it may be a list on its
// way. A misled kubelet counts right again after 6.1 s (median of 20; tests/e2e/conformance/run --line
// misled).

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// The difference between the kubelet's count and the list that it was sent.
struct Disagreement {
  std::vector<std::string> missing;  // ids sent as Healthy that the kubelet does not count; sorted
  std::vector<std::string> extra;    // ids that the kubelet counts but was not sent as Healthy; sorted
  std::size_t healthy = 0;           // number of ids sent as Healthy

  bool operator==(const Disagreement&) const = default;
  bool none() const { return missing.empty() && extra.empty(); }
  // Example: "of 4 Healthy devices it does not count 2 (a, b), and it counts 1 (x) that it was not sent as
  // Healthy".
  std::string text() const;
};

// `counted` must be sorted and free of duplicates.
Disagreement compare(const Inventory& sent, const std::vector<std::string>& counted);

// Judges one resource's count over repeated queries. A value without I/O; callers pass the time.
class Agreement {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // A shorter disagreement is ignored: the list may be under way, or the kubelet still processing it.
  static constexpr std::chrono::seconds kLasts{5};
  // The first pause after a new registration that did not help. The pause doubles each time.
  static constexpr std::chrono::seconds kFirstPause{10};
  static constexpr std::chrono::seconds kLongestPause{600};

  // Records an answer of the kubelet, given while the stream opened at `attached_since` was open. Returns
  // true when the disagreement has lasted so long that the resource should register again. Do not call it
  // without a stream: the kubelet's count means nothing then.
  bool update(const Inventory& sent, Time attached_since, Disagreement disagreement, Time now);

  // Returns the latest comparison.
  const Disagreement& disagreement() const { return found_; }
  // Returns true once the disagreement has lasted kLasts.
  bool disagrees() const { return told_; }

 private:
  Inventory sent_;
  Disagreement found_;
  std::optional<Time> since_;  // start of the disagreement over this list and stream; nullopt: none
  bool told_ = false;
  Time not_before_{};
  Backoff pause_{kFirstPause, kLongestPause};
};

// Queries the kubelet for its allocatable devices and compares them with the lists sent. Loop thread only.
class AllocatableCheck {
 public:
  // Interval between queries while the kubelet disagrees.
  static constexpr std::chrono::seconds kAgain{1};
  // Limit for one comparison on a worker. A comparison has no I/O, so it is far faster.
  static constexpr std::chrono::seconds kCompareDeadline{10};

  struct Subject {
    std::string resource;
    Inventory sent;
    std::optional<EventLoop::Clock::time_point> attached_since;  // nullopt: no stream is open
  };
  // Owns the resources. Called from the loop.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual std::vector<Subject> subjects() const = 0;
    virtual void register_again(const std::string& resource) = 0;
    // Called when disagreement() or unknown() changes.
    virtual void on_disagreement() = 0;
  };

  // `platform` and `owner` must outlive this object.
  AllocatableCheck(Platform& platform, Owner& owner);

  // Queries the kubelet of `link`, if any resource has a stream. If a query is running, another query follows
  // it. `link` must outlive the answer or the call of forget().
  void check(KubeletLink& link);
  // Returns true while a query or a comparison is running.
  bool busy() const { return comparing_ || (link_ && link_->allocatable().asking()); }
  // Drops all state, because another kubelet has taken over.
  void forget();

  // Returns a sentence about a disagreement that has lasted, or an empty string.
  std::string disagreement(const std::string& resource) const;
  // Returns why the kubelet's count is unknown; empty if it is known, or was never queried.
  const std::string& unknown() const { return unknown_; }

 private:
  void update(const Allocatable::Count& count);
  // `found` has one element per subject, in the same order.
  void judge_all(const std::vector<Subject>& subjects, std::vector<Disagreement>& found);
  void judge(const Subject& subject, Disagreement found);
  void end();

  Platform& platform_;
  Owner& owner_;
  KubeletLink* link_ = nullptr;
  std::map<std::string, Agreement> agreements_;  // by resource
  std::map<std::string, std::string> told_;      // sentences of the resources that disagree
  std::string unknown_;
  bool again_ = false;      // check() was called during a query
  bool comparing_ = false;  // a comparison runs on a worker: a resource can have 48,000 ids
  Timer timer_;
  Lifetime question_;
};

}  // namespace plughost
