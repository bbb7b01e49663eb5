#pragma once
// The cards of one resource that its pods' scheduler has chosen. Loop thread only.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assume/answer.hpp"
#include "assume/card.hpp"
#include "base/lifetime.hpp"
#include "device/assume_terms.hpp"
#include "kubelet/endpoint_owner.hpp"
#include "pods/assuming.hpp"
#include "pods/held_units.hpp"
#include "pods/pod_search.hpp"

namespace plughost {

class AssumedCards {
 public:
  using AllocationDone = EndpointOwner::AllocationDone;
  using StartDone = EndpointOwner::StartDone;
  using Ids = std::vector<std::string>;

  // As the offer's recipe has it, which has an assume. assuming outlives it.
  static std::unique_ptr<AssumedCards> of(Assuming& assuming, const Offer& offer);
  virtual ~AssumedCards() = default;
  AssumedCards(const AssumedCards&) = delete;
  AssumedCards& operator=(const AssumedCards&) = delete;

  // What a container gets for these ids.
  virtual void allocate(std::shared_ptr<const Offer> offer, const Ids& ids, AllocationDone done) = 0;
  // A container that holds them is about to start.
  virtual void prepare_start(std::shared_ptr<const Offer> offer, const Ids& ids, StartDone done) = 0;

  const AssumeTerms& terms() const { return terms_; }
  // The holder's card, as its pod's annotation has it; nullptr: it is not known.
  const Device* held_card(const Holder& holder, const Inventory& inventory) const;
  // By the pod's name, where only its UID is known and the API server shows the pod.
  Holder known_as(const Holder& holder) const;

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
  PodSearch pods_;

 private:
  virtual void on_pods() {}
  // A former process may have been killed between its answer and the mark.
  void look_for_unmarked();
};

}  // namespace plughost
