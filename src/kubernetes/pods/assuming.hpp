#pragma once
// The cards that schedulers choose for pods, and what the resources with such cards share: pods, marks, the
// kubelet's checkpoint, and the specifications of late names (CDI names that containers get before their
// cards are known). Loop thread only.

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

// The holders of a resource's units according to the checkpoint. The kubelet's ids do not identify cards.
// Pure functions of values, thread-safe.
std::vector<HeldUnits> held_units(const Checkpoint& checkpoint, std::string_view resource);
AnsweredContainers containers_of(const std::vector<HeldUnits>& held);
// Returns the answer that the holder got; nullptr: unknown.
const Allocation* answer_for(const Checkpoint& checkpoint, std::string_view resource,
                             const HeldUnits& holder);
// Returns the late device names of all resources in the checkpoint.
std::set<std::string> late_devices(const Checkpoint& checkpoint);

// Returns the same holders, each with as many ids as before, but of the card that card() returns. If card()
// returns nullptr (unknown), the holder keeps its ids; a free id replaces an id that another holder has got.
HoldersOfIds by_card(const HoldersOfIds& holders, const Inventory& inventory,
                     const std::function<const Device*(const Holder& holder)>& card);

// Returns the same holders, each under the name that known_as() returns.
HoldersOfIds by_name(const HoldersOfIds& holders,
                     const std::function<Holder(const Holder& holder)>& known_as);

// Writes marks into the annotations of one resource's pods. Loop thread only.
//
// One request is in progress at a time. After a failure, the marks take turns to test whether marks are
// accepted again, one mark at a time: a node whose 10,000 marks are forbidden sends two requests a minute,
// and not 333 a second. A new mark is tried at once.
class PodMarks {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{500};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};

  // The references must outlive this object.
  PodMarks(EventLoop& loop, ApiServer& server, Log& log);
  PodMarks& operator=(PodMarks&&) = delete;

  // Writes the pod's mark, unless it is pending already. `patch` is a merge patch of the pod's annotations,
  // with the pod's UID.
  void add(const AskingPod& pod, std::string patch);
  // Drops the pending marks of pods for which `wanted` returns false.
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
  std::unique_ptr<ApiCall> call_;  // writes writing_
  Backoff backoff_{kFirstPause, kLongestPause};
  bool failing_ = false;
  Timer again_;
  Subscription user_;
};

class Assuming {
 public:
  // The time from a change of pods to the search for unused specifications.
  static constexpr std::chrono::seconds kQuiet{1};

  // The referenced objects must outlive the Assuming.
  struct Context {
    EventLoop& loop;
    Log& log;
    ApiServer& api_server;
    NodeWatch& node_watch;
    std::function<CheckpointReader&()> checkpoint;  // returns the present reader
    // See CdiWriter.
    std::function<void(std::string name, std::string text,
                       std::function<void(const std::string& error)> done)>
        write_late;
    std::function<void(std::set<std::string> names)> remove_other_late;
  };

  // `pods_api` is the socket of the kubelet's pods API.
  Assuming(Context context, std::filesystem::path pods_api);
  Assuming& operator=(Assuming&&) = delete;

  EventLoop& loop() { return context_.loop; }
  Log& log() { return context_.log; }
  NodeWatch& node_watch() { return context_.node_watch; }
  PodSource& pods() { return pods_; }
  ApiServer& api_server() { return context_.api_server; }
  // Calls `done` with the present checkpoint, or nullptr if it cannot be read in time. Never calls `done` if
  // the kubelet's directory changes meanwhile: all entries, and with them the callers, are restarted then.
  void read_checkpoint(std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done);

  // Writes the specification of a late name; done gets the error, empty on success.
  void specify(const std::string& name, std::string text, std::function<void(const std::string& error)> done);
  // Schedules the removal of specifications whose pods are no longer in the checkpoint.
  void tidy_later();

 private:
  void tidy();

  Context context_;
  PodSource pods_;
  std::map<std::string, EventLoop::Clock::time_point> specified_;  // late names since the last removal
  Timer quiet_;
  Lifetime lifetime_;
};

// The cards of one resource that its pods' scheduler has chosen. Loop thread only.
class AssumedCards {
 public:
  using AllocationDone = EndpointOwner::AllocationDone;
  using StartDone = EndpointOwner::StartDone;

  // Creates the variant for the snapshot's spec, which must have `assume`. `assuming` must outlive it.
  static std::unique_ptr<AssumedCards> of(Assuming& assuming, const ResourceSnapshot& snapshot);
  virtual ~AssumedCards() = default;
  AssumedCards& operator=(AssumedCards&&) = delete;

  // Decides what a container gets for these ids.
  virtual void allocate(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) = 0;
  // Called before a container that holds the ids starts.
  virtual void prepare_start(SharedSnapshot snapshot, const IdSet& ids, StartDone done) = 0;

  const AssumeTerms& terms() const { return terms_; }
  // Returns a function that maps the resource's holders from the kubelet's ids to the cards of their pods'
  // annotations, and from UIDs to the pods' names. The function has copies of its data, so any thread may
  // call it at any time; it takes time in proportion to the number of ids.
  using HoldersByCard = std::function<HoldersOfIds(const HoldersOfIds& holders)>;
  HoldersByCard by_annotation(const Inventory& inventory) const;

 protected:
  AssumedCards(Assuming& assuming, const ResourceSnapshot& snapshot);

  // Returns true if the node does not isolate containers on one card.
  bool without_isolation() const;
  // Marks the pods that hold their units according to `held` and are not marked yet.
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
  // Marks pods for which a former process was killed between its answer and the mark.
  void find_unmarked();
};

// Create the variants for Identify::kLate and Identify::kGuess. `assuming` must outlive the results.
std::unique_ptr<AssumedCards> late_cards(Assuming& assuming, const ResourceSnapshot& snapshot);
std::unique_ptr<AssumedCards> guessed_cards(Assuming& assuming, const ResourceSnapshot& snapshot);

}  // namespace plughost
