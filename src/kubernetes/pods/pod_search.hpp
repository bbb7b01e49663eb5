#pragma once
// The pods that request one resource, their pending marks, and requests that wait for a pod to become
// visible. Loop thread only.

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

// The pods that request one resource. With `guess`, a pod's card is the first value of its annotation that
// was seen: schedulers write the annotation before they bind the pod. So a later edit by the pod's owner
// affects neither an Allocate's answer nor the check at the start. With `late`, the card is the annotation's
// present value.
class PodBook {
 public:
  // More than the pods of a node. Further pods are not stored, nor are pods that have ended.
  static constexpr std::size_t kMostPods = 5000;

  PodBook(std::string resource, AssumeTerms terms)
      : resource_(std::move(resource)), terms_(std::move(terms)) {}

  // Replace all pods, update one pod, or remove one pod.
  void replace(const std::vector<Pod>& pods);
  void put(const Pod& pod);
  void remove(const std::string& uid);

  std::vector<const AskingPod*> all() const;
  // Returns nullptr if the pod is unknown.
  const AskingPod* find(const std::string& uid) const;

  // Makes the pod count as marked before its source shows the mark, even if older data arrive.
  void set_marked(const std::string& uid);

 private:
  std::string resource_;
  AssumeTerms terms_;
  std::map<std::string, AskingPod> pods_;  // by UID
  std::set<std::string> marked_;           // UIDs of pods whose mark is not visible yet
};

class PodSearch : PodSource::Follower {
 public:
  // How long a pod that a kubelet has admitted may take to become visible, and the limit for the whole
  // answer, because the kubelet admits no other pod meanwhile.
  static constexpr std::chrono::milliseconds kPatience{1500};
  // The query interval for a kubelet that provides the pods.
  static constexpr std::chrono::milliseconds kAgain{250};

  // Calls `changed` after a change of pods; `anew`: all were replaced. `source` must outlive this object.
  PodSearch(EventLoop& loop, PodSource& source, std::string resource, AssumeTerms terms,
            std::function<void(bool anew)> changed);
  // Drops waiting requests without calling them.
  ~PodSearch() override = default;
  PodSearch& operator=(PodSearch&&) = delete;

  PodBook& book() { return book_; }
  const PodBook& book() const { return book_; }

  // Returns true if the known pods were sufficient, and the request has been answered.
  using Attempt = std::function<bool()>;
  // `error` is the reason why the known pods may be outdated; empty if they are not.
  using GiveUp = std::function<void(const std::string& error)>;
  // Calls `attempt` whenever pods have changed, until it returns true. Calls `give_up` if `patience` is over
  // and a last query was in vain. Queries request the pod `uid`, or all waiting pods if `uid` is empty.
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

  void on_list(const std::vector<Pod>& pods) override;
  void on_change(const Pod& pod) override;
  void on_gone(const std::string& uid) override;
  void on_pods(bool anew);
  void query(Waitings::iterator waiting);
  void on_told(Waitings::iterator waiting, const std::string& error);

  EventLoop& loop_;
  PodSource& source_;
  PodBook book_;
  const std::function<void(bool anew)> changed_;
  Waitings waiting_;
};

}  // namespace plughost
