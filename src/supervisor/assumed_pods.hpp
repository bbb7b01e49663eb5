#pragma once
// The pods of this node that ask for one resource, as the API server shows them. Loop thread only.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assume/asking_pod.hpp"
#include "assume/terms.hpp"
#include "base/event_loop.hpp"
#include "kubelet/holdings.hpp"
#include "platform/pod_watch.hpp"

namespace plughost {

class AssumedPods {
 public:
  // A kubelet runs some hundred pods; what is beyond is not looked at.
  static constexpr std::size_t kMostPods = 5000;
  // So long a pod may take to be seen that a kubelet has admitted, and so long an answer may take in all: the
  // kubelet admits no other pod until it has it.
  static constexpr std::chrono::milliseconds kPatience{1500};
  static constexpr std::chrono::milliseconds kLastList{400};

  // changed: after each list, and each change of a pod. server and watch outlive it.
  AssumedPods(EventLoop& loop, ApiServer& server, PodWatch& watch, std::string resource, AssumeTerms terms,
              std::function<void()> changed);
  // Nobody who waits is called.
  ~AssumedPods() = default;
  AssumedPods(const AssumedPods&) = delete;
  AssumedPods& operator=(const AssumedPods&) = delete;

  std::vector<const AskingPod*> all() const;
  // nullptr: there is none.
  const AskingPod* find(const std::string& uid) const;
  // By its name, or by its UID where that is all that is known.
  const AskingPod* find(const Holder& holder) const;
  // It is marked, and its annotation says this card: before the API server says so, and whatever older news
  // say.
  void set_marked(const std::string& uid);
  void set_card(const std::string& uid, const std::string& card);

  // Calls attempt, now and when something is known that was not, until it says that it has what it wants.
  // When patience is over the pods that wait are listed once more; if that is not enough, give_up is told why
  // the API server was not asked or did not answer; empty: it has.
  using Attempt = std::function<bool()>;
  using GiveUp = std::function<void(const std::string& trouble)>;
  void until(Attempt attempt, GiveUp give_up, std::chrono::milliseconds patience = kPatience);

 private:
  struct Waiting {
    Attempt attempt;
    GiveUp give_up;
    std::unique_ptr<Timer> patience;
    std::unique_ptr<ApiCall> list;
  };
  using Waitings = std::list<Waiting>;
  // What is being written to a pod, and the API server does not show yet.
  struct Ours {
    std::optional<std::string> card;
    bool marked = false;
  };

  void put(const Json& pod);
  void on_change();
  void list_anew(Waitings::iterator waiting);
  void on_list(Waitings::iterator waiting, const ApiAnswer& answer);
  void finish(Waitings::iterator waiting, const std::string& trouble);

  EventLoop& loop_;
  ApiServer& server_;
  PodWatch& watch_;
  const std::string resource_;
  const AssumeTerms terms_;
  const std::function<void()> changed_;
  std::map<std::string, AskingPod> pods_;  // by UID
  std::map<std::string, Ours> ours_;       // by UID
  Waitings waiting_;
  Subscription user_;
  std::unique_ptr<PodWatch::Follower> follower_;
};

}  // namespace plughost
