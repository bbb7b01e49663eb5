#pragma once
// Whether the kubelet counts the devices it was sent.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Whether the kubelet counts the devices it was sent: one resource's, as it is asked again and again. Plain
// values: no I/O, and no clock but the time that is told.

// What the kubelet counts is not what it was sent.
struct Disagreement {
  std::vector<std::string> missing;  // ids that were sent as Healthy, and are not counted; sorted
  std::vector<std::string> extra;    // ids that are counted, and were not sent as Healthy; sorted
  std::size_t healthy = 0;           // ids that were sent as Healthy

  bool operator==(const Disagreement&) const = default;
  bool none() const { return missing.empty() && extra.empty(); }
  // "of 4 Healthy devices it does not count 2 (a, b), and it counts 1 (x) that it was not sent as Healthy".
  std::string text() const;
};

// counted: ids, sorted, each once.
Disagreement compare(const Inventory& sent, const std::vector<std::string>& counted);

class Agreement {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // A list that is on its way, or that the kubelet has not taken in yet, is no disagreement.
  static constexpr std::chrono::seconds kLasts{5};
  // After a new registration that did not help the next one waits for the first of these, and twice as long
  // each time.
  static constexpr std::chrono::seconds kFirstPause{10};
  static constexpr std::chrono::seconds kLongestPause{600};

  // The kubelet was asked, and there is a stream to it, which was opened at attached_since. True: what it
  // counts has been wrong for so long that it is to be registered anew. While there is no stream, what the
  // kubelet counts is nobody's fault.
  bool update(const Inventory& sent, Time attached_since, Disagreement disagreement, Time now);

  // What was found last.
  const Disagreement& disagreement() const { return found_; }
  // It has been wrong for kLasts.
  bool disagrees() const { return told_; }

 private:
  Inventory sent_;
  Disagreement found_;
  std::optional<Time> since_;  // of this list and this stream; nullopt: they agree
  bool told_ = false;
  Time not_before_{};
  Backoff pause_{kFirstPause, kLongestPause};
};

// Asks the kubelet which devices it would give, and holds that against what it was sent. Loop thread only.
class AllocatableCheck {
 public:
  // While the kubelet disagrees it is asked so often.
  static constexpr std::chrono::seconds kAgain{1};
  // A comparison waits for nothing.
  static constexpr std::chrono::seconds kCompareDeadline{10};

  struct Subject {
    std::string resource;
    Inventory sent;
    std::optional<EventLoop::Clock::time_point> attached_since;  // nullopt: no stream is open
  };
  struct Hooks {
    std::function<std::vector<Subject>()> subjects;
    std::function<void(const std::string& resource)> register_anew;
    std::function<void()> changed;  // disagrees() or unknown()
  };

  // platform outlives it.
  AllocatableCheck(Platform& platform, Hooks hooks);

  // Asks that kubelet, at once unless it is being asked, if it has a stream. link outlives the answer, or
  // forget() is called.
  void check(KubeletLink& link);
  // True while the kubelet is asked, or its answer is compared.
  bool busy() const { return comparing_ || (link_ && link_->allocatable().asking()); }
  // Another kubelet is meant from now on.
  void forget();

  // Has what the kubelet counts been wrong for a while? As a sentence; empty: it has not, as far as is known.
  std::string disagreement(const std::string& resource) const;
  // Why nobody knows what the kubelet counts; empty: it is known, or nobody has asked yet.
  const std::string& unknown() const { return unknown_; }

 private:
  void update(const Allocatable::Count& count);
  // found: for each of the subjects.
  void judge_all(const std::vector<Subject>& subjects, std::vector<Disagreement>& found);
  void judge(const Subject& subject, Disagreement found);
  void end();

  Platform& platform_;
  Hooks hooks_;
  KubeletLink* link_ = nullptr;
  std::map<std::string, Agreement> agreements_;  // by resource
  std::map<std::string, std::string> told_;      // the sentences of those that disagree
  std::string unknown_;
  bool again_ = false;      // asked to look meanwhile
  bool comparing_ = false;  // on a worker: a resource can have 48,000 ids
  Timer timer_;
  Lifetime question_;
};

}  // namespace plughost
