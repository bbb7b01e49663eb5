#pragma once
// What the resources whose cards a scheduler chooses share: who tells the pods, what the kubelet has written,
// and the specifications of names that a start decides. Loop thread only.

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/rate.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/node_watch.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "kubernetes/plugin/endpoint.hpp"
#include "kubernetes/pods/pod_search.hpp"
#include "kubernetes/pods/pod_source.hpp"
#include "model/assume/answer.hpp"
#include "model/assume/pod.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Who holds a resource's units, in the kubelet's checkpoint, and which card, where the kubelet's ids do not
// say it. Pure functions of values, thread-safe.
std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource);
AnsweredContainers containers_of(const std::vector<HeldUnits>& held);
// What the container was answered for these ids; nullptr: it is not known.
const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder);
// The late devices of every resource that somebody holds.
std::set<std::string> late_devices(const Checkpoint& checkpoint);

// Returns the same holders of a resource, each with as many ids, but of the card that card() returns.
// nullptr, for an unknown card, leaves the ids as they are, as far as no other holder has them by then.
HoldersOfIds by_card(const HoldersOfIds& holders, const Inventory& inventory,
                     const std::function<const Device*(const Holder& holder)>& card);

// Returns the same holders of a resource, each under the name that known_as() returns.
HoldersOfIds by_name(const HoldersOfIds& holders,
                     const std::function<Holder(const Holder& holder)>& known_as);

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

class Assuming {
 public:
  // Specifications that nobody needs are looked for so long after a change of pods.
  static constexpr std::chrono::seconds kQuiet{1};

  // All outlive it.
  struct Context {
    EventLoop& loop;
    Log& log;
    ApiServer& api_server;
    NodeWatch& node_watch;
    std::function<CheckpointReader&()> checkpoint;  // the present one
    // See CdiWriter.
    std::function<void(std::string name, std::string text,
                       std::function<void(const std::string& error)> done)>
        write_late;
    std::function<void(std::set<std::string> names)> remove_other_late;
  };

  // pods_api: the kubelet's socket.
  Assuming(Context context, std::filesystem::path pods_api);
  Assuming& operator=(Assuming&&) = delete;

  EventLoop& loop() { return context_.loop; }
  Log& log() { return context_.log; }
  NodeWatch& node_watch() { return context_.node_watch; }
  PodSource& pods() { return pods_; }
  ApiServer& api_server() { return context_.api_server; }
  // What the kubelet has written by now; nullptr: it cannot be read, or not in time. done never runs if the
  // kubelet's directory moves meanwhile: all entries, and with them who asks here, begin anew then.
  void read_checkpoint(std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done);

  // What a late name stands for, before done: it says why not; empty: it is written.
  void specify(const std::string& name, std::string text, std::function<void(const std::string& error)> done);
  // Pods have changed: the specifications of those that the kubelet's checkpoint has no more are to go.
  void tidy_later();

 private:
  void tidy();

  Context context_;
  PodSource pods_;
  std::map<std::string, EventLoop::Clock::time_point> specified_;  // late names, since the last tidying
  Timer quiet_;
  Lifetime lifetime_;
};

// The cards of one resource that its pods' scheduler has chosen. Loop thread only.
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
