#pragma once
// The cards of one resource that its pods' scheduler has chosen. Loop thread only.

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "kubernetes/plugin/endpoint_owner.hpp"
#include "kubernetes/pods/assuming.hpp"
#include "kubernetes/pods/held_units.hpp"
#include "kubernetes/pods/pod_search.hpp"
#include "model/assume/answer.hpp"
#include "model/assume/pod.hpp"
#include "model/device/assume_terms.hpp"

namespace plughost {

// The marks that are to be written into the annotations of one resource's pods. Loop thread only.
//
// One request is under way at a time. After a failure one mark, each time another, probes whether marks are
// accepted again, and the others wait for it: a node whose 10,000 marks are forbidden sends two requests a
// minute, and not 333 a second. A new mark is tried at once.
class PodMarks {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{500};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};

  // All outlive it.
  PodMarks(EventLoop& loop, ApiServer& server, Log& log);
  PodMarks& operator=(PodMarks&&) = delete;

  // Writes the pod's mark, unless it is to be written already. patch: a merge patch of the pod's annotations,
  // with its UID.
  void add(const AskingPod& pod, std::string patch);
  // Drops the marks of all other pods.
  void keep(const std::function<bool(const std::string& uid)>& wanted);

 private:
  struct Mark {
    std::string pod;  // "namespace/name"
    std::string uid;
    std::string annotation;
    std::string patch;
  };

  void write();
  void on_answer(const ApiAnswer& answer);

  ApiServer& server_;
  Log& log_;
  std::list<Mark> waiting_;
  std::optional<Mark> writing_;
  std::unique_ptr<ApiCall> call_;  // of writing_
  Backoff backoff_{kFirstPause, kLongestPause};
  bool failing_ = false;
  Timer again_;
  Subscription user_;
};

class AssumedCards {
 public:
  using AllocationDone = EndpointOwner::AllocationDone;
  using StartDone = EndpointOwner::StartDone;

  // As the snapshot's spec has it, which has an assume. assuming outlives it.
  static std::unique_ptr<AssumedCards> of(Assuming& assuming, const ResourceSnapshot& snapshot);
  virtual ~AssumedCards() = default;
  AssumedCards& operator=(AssumedCards&&) = delete;

  // Decides what a container gets for these ids.
  virtual void allocate(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) = 0;
  // Called before a container that holds the ids starts.
  virtual void prepare_start(SharedSnapshot snapshot, const IdSet& ids, StartDone done) = 0;

  const AssumeTerms& terms() const { return terms_; }
  // Returns the holders of the resource by the cards of their pods' annotations, instead of by the kubelet's
  // ids, and by the pods' names where only UIDs are known. Any thread may call the function, at any time: it
  // has copies of all that it needs. It takes as long as there are ids.
  using HoldersByCard = std::function<HoldersOfIds(const HoldersOfIds& holders)>;
  HoldersByCard by_annotation(const Inventory& inventory) const;

 protected:
  AssumedCards(Assuming& assuming, const ResourceSnapshot& snapshot);

  // Does the node say that containers of one card are not to be kept apart?
  bool without_isolation() const;
  // Marks those that have their units, and are not marked.
  void mark(const std::vector<HeldUnits>& held);
  void mark(const AskingPod& pod);

  Assuming& assuming_;
  const std::string resource_;
  const AssumeTerms terms_;
  std::unique_ptr<Subscription> node_;
  Lifetime lifetime_;
  PodMarks marks_;
  PodSearch pods_;

 private:
  virtual void on_pods() {}
  // A former process may have been killed between its answer and the mark.
  void find_unmarked();
};

// As Identify has it. assuming outlives them.
std::unique_ptr<AssumedCards> late_cards(Assuming& assuming, const ResourceSnapshot& snapshot);
std::unique_ptr<AssumedCards> guessed_cards(Assuming& assuming, const ResourceSnapshot& snapshot);

}  // namespace plughost
