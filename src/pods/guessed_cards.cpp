// Cards that are found while the kubelet waits, from the pods alone: which pod it is, is a guess, until the
// kubelet's checkpoint says it. Loop thread only.

#include <algorithm>
#include <map>
#include <utility>

#include "assume/holders.hpp"
#include "assume/match.hpp"
#include "assume/pod.hpp"
#include "pods/assumed_cards.hpp"
#include "text/text.hpp"

namespace plughost {
namespace {

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

struct GuessedCards::Ask {
  std::shared_ptr<const Offer> offer;
  Ids ids;
  AllocationDone done;
  EventLoop::Clock::time_point asked = EventLoop::Clock::now();
  std::vector<HeldUnits> held;  // by the checkpoint
  std::string why;              // why it is none of the pods; empty: nobody has told them
};

GuessedCards::GuessedCards(Assuming& assuming, const Offer& offer)
    : AssumedCards(assuming, offer), settling_(assuming.loop(), [this] { settle_later(); }) {}

void GuessedCards::allocate(std::shared_ptr<const Offer> offer, const Ids& ids, AllocationDone done) {
  const auto ask = std::make_shared<Ask>(Ask{.offer = std::move(offer), .ids = ids, .done = std::move(done)});
  assuming_.read_checkpoint(lifetime_.bound([this, ask](const std::shared_ptr<const Checkpoint>& checkpoint) {
    if (checkpoint) {
      settle(*checkpoint);
      ask->held = held_units(*checkpoint, resource_);
    }
    look_for_pod(ask);
  }));
}

void GuessedCards::look_for_pod(const std::shared_ptr<Ask>& ask) {
  // A checkpoint that hangs has cost some of it.
  const auto spent = std::chrono::ceil<std::chrono::milliseconds>(EventLoop::Clock::now() - ask->asked);
  const auto patience = patience_of(*ask->offer) - spent;
  pods_.until(
      "", [this, ask] { return try_to_answer(*ask); },
      [this, ask](const std::string& trouble) { answer_without_pod(*ask, trouble); },
      std::max(patience, std::chrono::milliseconds(0)));
}

// A kubelet that tells its pods learns nothing new while it waits for the answer.
std::chrono::milliseconds GuessedCards::patience_of(const Offer& offer) const {
  if (assuming_.pods().by_kubelet()) return std::chrono::milliseconds(0);
  return terms_.only_card && only_card(offer.inventory) ? kOnlyCardPatience : PodSearch::kPatience;
}

bool GuessedCards::try_to_answer(Ask& ask) {
  AnsweredContainers known = answered_;
  known.merge(containers_of(ask.held));
  const auto found = match(pods_.book().all(), ask.ids.size(), known, terms_);
  if (const auto* const why = std::get_if<std::string>(&found)) {
    ask.why = *why;
    return false;
  }
  const PodMatch& it = std::get<PodMatch>(found);
  const AskingPod& pod = *it.pod;
  const auto card = card_of(terms_, pod, ask.offer->inventory);
  if (const auto* const trouble = std::get_if<std::string>(&card)) {
    ask.done(*trouble);
    return true;
  }
  auto outcome = answer_on_card(*ask.offer, *ask.offer->recipe, *std::get<const Device*>(card),
                                ask.ids.size(), &pod, false, without_isolation());
  if (std::holds_alternative<Allocation>(outcome)) {
    for (const std::string& container : it.containers) answered_.emplace(pod.uid, container);
    guesses_[late_device(resource_, ask.ids)] = {.guess = {.ids = ask.ids,
                                                           .pod = pod.uid,
                                                           .containers = it.containers,
                                                           .former = holders_of(ask.held, ask.ids)},
                                                 .at = EventLoop::Clock::now()};
    settling_.arm(kSettling);
  }
  ask.done(std::move(outcome));
  return true;
}

void GuessedCards::answer_without_pod(Ask& ask, const std::string& trouble) {
  std::string why = ask.why;
  if (why.empty())
    why = "nobody tells which pods this node has: " + trouble;
  else if (!trouble.empty())
    why += "; and what is known may be old: " + trouble;
  ask.done(plughost::answer_without_pod(*ask.offer, ask.ids.size(), why, without_isolation()));
}

void GuessedCards::prepare_start(std::shared_ptr<const Offer>, const Ids& ids, StartDone done) {
  assuming_.read_checkpoint(lifetime_.bound(
      [this, ids, done = std::move(done)](const std::shared_ptr<const Checkpoint>& checkpoint) {
        done("");
        if (!checkpoint) return;
        settle(*checkpoint);
        // What a former process has answered is settled now.
        const std::vector<HeldUnits> held = held_units(*checkpoint, resource_);
        const auto holder = holder_of(held, ids);
        if (const auto* const its = std::get_if<const HeldUnits*>(&holder)) put_right(*checkpoint, **its, "");
      }));
}

void GuessedCards::settle_later() {
  assuming_.read_checkpoint(lifetime_.bound([this](const std::shared_ptr<const Checkpoint>& checkpoint) {
    if (checkpoint)
      settle(*checkpoint);
    else
      give_up_unsettled();
    if (!guesses_.empty() && !settling_.armed()) settling_.arm(kSettling);
  }));
}

void GuessedCards::settle(const Checkpoint& checkpoint) {
  const std::vector<HeldUnits> held = held_units(checkpoint, resource_);
  const auto forgotten = EventLoop::Clock::now() - kUnsettled;
  for (auto next = guesses_.begin(); next != guesses_.end();) {
    const auto each = next++;
    const Guess& guess = each->second.guess;
    const bool old = each->second.at <= forgotten;
    const SettledGuess it = settled(guess, held, old);
    if (it.is == GuessIs::kOpen) continue;
    if (it.is == GuessIs::kWrong && !old && !pods_.book().find(it.holder->pod_uid))
      continue;  // it will be seen
    if (it.is != GuessIs::kRight) forget(guess);
    if (it.is == GuessIs::kWrong) put_right(checkpoint, *it.holder, guess.pod);
    guesses_.erase(each);
  }
  mark(held);
}

void GuessedCards::give_up_unsettled() {
  const auto forgotten = EventLoop::Clock::now() - kUnsettled;
  std::erase_if(guesses_, [&](const auto& item) {
    if (item.second.at > forgotten) return false;
    const AskingPod* const pod = pods_.book().find(item.second.guess.pod);
    if (pod && !marked(*pod) && all_answered(*pod, answered_)) mark(*pod);
    return true;
  });
}

void GuessedCards::forget(const Guess& guess) {
  for (const std::string& container : guess.containers) answered_.erase({guess.pod, container});
}

void GuessedCards::put_right(const Checkpoint& checkpoint, const HeldUnits& holder,
                             const std::string& meant) {
  const AskingPod* const real = pods_.book().find(holder.pod_uid);
  const Allocation* const answer = answer_for(checkpoint, resource_, holder);
  const std::string given = answer ? card_in(terms_, answer->env) : "";
  if (!real || !real->time || given.empty()) return;
  const std::vector<NewCard> news = exchange(pods_.book().all(), *real, given, meant);
  if (news.empty()) return;
  std::string pods;
  for (const NewCard& each : news) {
    pods += (pods.empty() ? "" : " and ") + printable(each.pod->name);
    assuming_.marks().add(each.pod->name, each.pod->uid, each.pod->names.card, each.card,
                          card_patch(*each.pod, each.card));
    pods_.book().set_card(each.pod->uid, each.card);
  }
  Log& log = assuming_.log();
  log.info("pods were mixed up: each gets the card in the other's annotations",
           {{"resource", resource_}, {"pods", pods}});
}

// Pods that wait no more, and those that are gone, are nobody's candidates.
void GuessedCards::on_pods() {
  std::erase_if(answered_, [this](const auto& answered) {
    const AskingPod* const pod = pods_.book().find(answered.first);
    return !pod || pod->phase != "Pending";
  });
}

}  // namespace

std::unique_ptr<AssumedCards> guessed_cards(Assuming& assuming, const Offer& offer) {
  return std::make_unique<GuessedCards>(assuming, offer);
}

}  // namespace plughost
