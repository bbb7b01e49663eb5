#pragma once
// Cards that are found when the container starts, by the kubelet's checkpoint: nothing is guessed. Loop
// thread only.

#include "pods/assumed_cards.hpp"

namespace plughost {

class LateCards final : public AssumedCards {
 public:
  LateCards(Assuming& assuming, const Offer& offer) : AssumedCards(assuming, offer) {}

  // At once, and without the API server: a CDI name.
  void allocate(std::shared_ptr<const Offer> offer, const Ids& ids, AllocationDone done) override;
  // Writes what the name stands for. A start that comes too early fails, and the kubelet tries it again.
  void prepare_start(std::shared_ptr<const Offer> offer, const Ids& ids, StartDone done) override;

 private:
  struct Start;

  void find_pod(const std::shared_ptr<const Start>& start, const std::string& uid);
  void specify(const std::shared_ptr<const Start>& start, const AskingPod& pod);
  void on_pods() override { assuming_.tidy_later(); }
};

}  // namespace plughost
