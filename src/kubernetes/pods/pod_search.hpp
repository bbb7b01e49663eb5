#pragma once
// The pods that ask for one resource, what is being written to them, and who waits for one of them to be
// seen. Loop thread only.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "kubernetes/pods/pod_source.hpp"
#include "model/assume/pod.hpp"
#include "model/device/allocation_spec.hpp"

namespace plughost {

// With `guess` the card of a pod is the first that its annotation has been seen with: schedulers write it
// before they bind the pod. So an owner who edits the annotation of his own pod later changes neither what an
// Allocate answers nor what a start is compared with. With `late` it is the annotation's present value.
class PodBook {
 public:
  // A kubelet runs some hundred pods; more are not kept. Pods that have ended are not kept either.
  static constexpr std::size_t kMostPods = 5000;

  PodBook(std::string resource, AssumeTerms terms)
      : resource_(std::move(resource)), terms_(std::move(terms)) {}

  // All that there are, one of them, or one that is no more, as somebody else shows them.
  void replace(const std::vector<Pod>& pods);
  void put(const Pod& pod);
  void remove(const std::string& uid);

  std::vector<const AskingPod*> all() const;
  // nullptr: there is none.
  const AskingPod* find(const std::string& uid) const;

  // The pod counts as marked before its source shows the mark, and whatever older news say.
  void set_marked(const std::string& uid);

 private:
  std::string resource_;
  AssumeTerms terms_;
  std::map<std::string, AskingPod> pods_;  // by UID
  std::set<std::string> marked_;           // UIDs of the pods whose mark is not shown yet
};

class PodSearch {
 public:
  // So long a pod may take to be seen that a kubelet has admitted, and so long an answer may take in all: the
  // kubelet admits no other pod until it has it.
  static constexpr std::chrono::milliseconds kPatience{1500};
  // A kubelet that tells the pods is asked so often what it knows by now.
  static constexpr std::chrono::milliseconds kAgain{250};

  // changed: another pod is known; anew: all of them are. source outlives it.
  PodSearch(EventLoop& loop, PodSource& source, std::string resource, AssumeTerms terms,
            std::function<void(bool anew)> changed);
  // Nobody who waits is called.
  ~PodSearch() = default;
  PodSearch& operator=(PodSearch&&) = delete;

  PodBook& book() { return book_; }
  const PodBook& book() const { return book_; }

  // Has it what it wants? An answer is given then.
  using Attempt = std::function<bool()>;
  // Why what is known may be old; empty: it is not.
  using GiveUp = std::function<void(const std::string& error)>;
  // Of the pod with that UID, or of all that wait: calls attempt with what is known as soon as that can be
  // enough, until it says yes. When patience is over, and the pods have been asked for once more in vain,
  // give_up is told.
  void until(const std::string& uid, Attempt attempt, GiveUp give_up,
             std::chrono::milliseconds patience = kPatience);

 private:
  struct Waiting {
    std::string uid;
    Attempt attempt;
    GiveUp give_up;
    EventLoop::Clock::time_point until;
    std::unique_ptr<Timer> next;
    std::unique_ptr<PodSource::Question> question;
  };
  using Waitings = std::list<Waiting>;

  void on_change(bool anew);
  void query(Waitings::iterator waiting);
  void on_told(Waitings::iterator waiting, const std::string& error);

  EventLoop& loop_;
  PodSource& source_;
  PodBook book_;
  const std::function<void(bool anew)> changed_;
  Waitings waiting_;
  std::unique_ptr<PodSource::Follower> follower_;
};

}  // namespace plughost
