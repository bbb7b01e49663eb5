#pragma once
// The cards of one resource that its pods' scheduler has chosen. Loop thread only.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assume/answer.hpp"
#include "base/event_loop.hpp"
#include "device/assume_terms.hpp"
#include "kubelet/pod_resources.hpp"
#include "plugin/endpoint_owner.hpp"
#include "pods/assuming.hpp"
#include "pods/held_units.hpp"
#include "pods/pod_marks.hpp"
#include "pods/pod_search.hpp"

namespace plughost {

class AssumedCards {
 public:
  using AllocationDone = EndpointOwner::AllocationDone;
  using StartDone = EndpointOwner::StartDone;

  // As the offer's recipe has it, which has an assume. assuming outlives it.
  static std::unique_ptr<AssumedCards> of(Assuming& assuming, const Offer& offer);
  virtual ~AssumedCards() = default;
  AssumedCards& operator=(AssumedCards&&) = delete;

  // Decides what a container gets for these ids.
  virtual void allocate(std::shared_ptr<const Offer> offer, const IdSet& ids, AllocationDone done) = 0;
  // Called before a container that holds the ids starts.
  virtual void prepare_start(std::shared_ptr<const Offer> offer, const IdSet& ids, StartDone done) = 0;

  const AssumeTerms& terms() const { return terms_; }
  // Returns the holders of the resource by the cards of their pods' annotations, instead of by the kubelet's
  // ids, and by the pods' names where only UIDs are known. Any thread may call the function, at any time: it
  // has copies of all that it needs. It takes as long as there are ids.
  using HoldersByCard = std::function<HoldersOfIds(const HoldersOfIds& holders)>;
  HoldersByCard by_annotation(const Inventory& inventory) const;

 protected:
  AssumedCards(Assuming& assuming, const Offer& offer);

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
  void look_for_unmarked();
};

// As Identify has it. assuming outlives them.
std::unique_ptr<AssumedCards> late_cards(Assuming& assuming, const Offer& offer);
std::unique_ptr<AssumedCards> guessed_cards(Assuming& assuming, const Offer& offer);

}  // namespace plughost
