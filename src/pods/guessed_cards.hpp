#pragma once
// Cards that are found while the kubelet waits, from the pods alone: which pod it is, is a guess, until the
// kubelet's checkpoint says it. Loop thread only.

#include <map>

#include "assume/guess.hpp"
#include "pods/assumed_cards.hpp"

namespace plughost {

class GuessedCards final : public AssumedCards {
 public:
  // Where a node has one card, and it is that: a pod that its scheduler has chosen for may be seen a bit
  // later.
  static constexpr std::chrono::milliseconds kOnlyCardPatience{300};
  // The kubelet writes its checkpoint when it has our answer: looked for so often, and for so long.
  static constexpr std::chrono::milliseconds kSettling{100};
  static constexpr std::chrono::seconds kUnsettled{10};

  GuessedCards(Assuming& assuming, const Offer& offer);

  void allocate(std::shared_ptr<const Offer> offer, const Ids& ids, AllocationDone done) override;
  void prepare_start(std::shared_ptr<const Offer> offer, const Ids& ids, StartDone done) override;

 private:
  struct Ask;
  struct Unsettled {
    Guess guess;
    EventLoop::Clock::time_point at;
  };

  void look_for_pod(const std::shared_ptr<Ask>& ask);
  std::chrono::milliseconds patience_of(const Offer& offer) const;
  // Has the ask been answered, well or not?
  bool try_to_answer(Ask& ask);
  void answer_without_pod(Ask& ask, const std::string& trouble);
  void settle_later();
  // By the checkpoint: pods that were taken for each other have their annotations exchanged, who has its
  // units is marked, and a pod whose units nobody has got is a candidate again.
  void settle(const Checkpoint& checkpoint);
  // Without a checkpoint a guess that is old is taken to be right.
  void give_up_unsettled();
  void forget(const Guess& guess);
  // What the holder has been given is its card.
  void put_right(const Checkpoint& checkpoint, const HeldUnits& holder, const std::string& meant);
  void on_pods() override;

  AnsweredContainers answered_;               // of pods that are Pending still
  std::map<std::string, Unsettled> guesses_;  // by late_device() of the ids
  Timer settling_;
};

}  // namespace plughost
