// Chooses a card during the Allocate, from the pods alone. Loop thread only.
//
// An Allocate does not name its pod. Before Kubernetes 1.37, where no kubelet reports the pods that it admits
// (see pods_api.hpp), the pod is a guess until the kubelet's checkpoint names the holder of the ids. The
// kubelet admits pods in a different order than the scheduler, so a guess can be wrong: a container would get
// a card on which the scheduler has counted another pod. Such a container does not start: PreStartContainer
// compares the card of its answer, from the checkpoint, with the first card that the holder's own annotation
// was seen with (see PodBook). A wrong guess among pods on one card is harmless. Nothing is written into a
// pod but its own mark: an earlier design exchanged the cards in two pods' annotations, which let one pod's
// owner edit the other pod.
//
// After a restart, the first card that is seen may be an edited one. This looks the same as a wrong guess of
// the former process. So the start is refused whenever card and annotation differ: otherwise the container
// might use memory that is promised to another pod.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kubernetes/pods/assuming.hpp"
#include "model/assume/answer.hpp"
#include "model/assume/pod.hpp"

namespace plughost {
namespace {

class GuessedCards final : public AssumedCards {
 public:
  // The patience before an unknown pod gets the node's only card: a pod for which the scheduler has chosen a
  // card may become visible a moment later.
  static constexpr std::chrono::milliseconds kOnlyCardPatience{300};
  // The checkpoint, which the kubelet writes when it has our answer, is read in intervals of kSettling, until
  // kUnsettled after the last Allocate.
  static constexpr std::chrono::milliseconds kSettling{100};
  static constexpr std::chrono::seconds kUnsettled{10};
  using Time = EventLoop::Clock::time_point;

  GuessedCards(Assuming& assuming, const ResourceSnapshot& snapshot);

  void allocate(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) override;
  void prepare_start(SharedSnapshot snapshot, const IdSet& ids, StartDone done) override;

 private:
  struct Ask;
  struct Answer {
    Guess guess;
    std::string card;  // in the annotation's form
    Time at;
    bool wrong = false;  // another pod holds the ids
  };

  void find_pod(const std::shared_ptr<Ask>& ask);
  std::chrono::milliseconds patience_of(const ResourceSnapshot& snapshot) const;
  // Returns true if the request has been answered, successfully or not.
  bool try_to_answer(Ask& ask);
  void answer_without_pod(Ask& ask, const std::string& error);
  void settle_later();
  // Marks the pods that hold their units according to the checkpoint. Makes a pod a candidate again if
  // another pod holds its units, or if a guess older than `old` has no holder.
  void settle(const std::vector<HeldUnits>& held, Time old);
  // Refuses the start if the container's card is not its pod's.
  void check_card(const ResourceSnapshot& snapshot, const std::string& uid,
                  const std::set<std::string>& given, const StartDone& done);
  void on_pods() override;

  AnsweredContainers answered_;            // of pods that are still Pending
  std::map<std::string, Answer> guesses_;  // pending and wrong guesses, by the name of the ids
  Timer settling_;
};

struct GuessedCards::Ask {
  SharedSnapshot snapshot;
  IdSet ids;
  AllocationDone done;
  EventLoop::Clock::time_point asked = EventLoop::Clock::now();
  std::vector<HeldUnits> held;  // according to the checkpoint
  std::string why;              // why no pod matches; empty: the pods are unknown
  bool refused = false;         // a pod matches, but its card cannot be allocated
};

GuessedCards::GuessedCards(Assuming& assuming, const ResourceSnapshot& snapshot)
    : AssumedCards(assuming, snapshot), settling_(assuming.loop(), [this] { settle_later(); }) {}

void GuessedCards::allocate(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) {
  const auto ask =
      std::make_shared<Ask>(Ask{.snapshot = std::move(snapshot), .ids = ids, .done = std::move(done)});
  assuming_.read_checkpoint(lifetime_.bound([this, ask](const std::shared_ptr<const Checkpoint>& checkpoint) {
    if (checkpoint) {
      ask->held = held_units(*checkpoint, resource_);
      // The kubelet writes its checkpoint after an answer, and before it sends the next Allocate. So an older
      // answer that is missing in the checkpoint will never be in it.
      settle(ask->held, ask->asked);
    }
    find_pod(ask);
  }));
}

void GuessedCards::find_pod(const std::shared_ptr<Ask>& ask) {
  // Reading a slow checkpoint has consumed a part of the patience.
  const auto spent = std::chrono::ceil<std::chrono::milliseconds>(EventLoop::Clock::now() - ask->asked);
  const auto patience = patience_of(*ask->snapshot) - spent;
  pods_.until(
      "", [this, ask] { return try_to_answer(*ask); },
      [this, ask](const std::string& error) { answer_without_pod(*ask, error); },
      std::max(patience, std::chrono::milliseconds(0)));
}

// If the kubelet provides the pods, waiting is useless: it admits no new pod before it has the answer.
std::chrono::milliseconds GuessedCards::patience_of(const ResourceSnapshot& snapshot) const {
  if (assuming_.pods().by_kubelet()) return std::chrono::milliseconds(0);
  return terms_.only_card && only_card(snapshot.inventory) ? kOnlyCardPatience : PodSearch::kPatience;
}

bool GuessedCards::try_to_answer(Ask& ask) {
  AnsweredContainers known = answered_;
  known.merge(containers_of(ask.held));
  const auto found = match(pods_.book().all(), ask.ids.count, known, terms_, ask.snapshot->inventory);
  if (const auto* const why = std::get_if<std::string>(&found)) {
    ask.why = *why;
    ask.refused = false;
    return false;
  }
  const PodMatch& it = std::get<PodMatch>(found);
  const AskingPod& pod = *it.pod;
  const auto card = card_of(terms_, pod, ask.snapshot->inventory);
  if (const auto* const error = std::get_if<std::string>(&card)) {
    // The requesting pod may be another pod, which is not visible yet.
    ask.why = *error;
    ask.refused = true;
    return false;
  }
  auto outcome = answer_on_card(*ask.snapshot, *ask.snapshot->spec, *std::get<const Device*>(card),
                                ask.ids.count, &pod, false, without_isolation());
  if (std::holds_alternative<Allocation>(outcome)) {
    for (const std::string& container : it.containers) answered_.emplace(pod.uid, container);
    guesses_[ask.ids.name] = {.guess = {.ids = ask.ids,
                                        .pod = pod.uid,
                                        .containers = it.containers,
                                        .former = holders_of(ask.held, ask.ids)},
                              .card = card_text(terms_, *std::get<const Device*>(card)),
                              .at = EventLoop::Clock::now()};
    settling_.arm(kSettling);
  }
  ask.done(std::move(outcome));
  return true;
}

void GuessedCards::answer_without_pod(Ask& ask, const std::string& error) {
  std::string why = ask.why;
  if (ask.refused) return ask.done(why);
  if (why.empty())
    why = "the pods of this node are unknown: " + error;
  else if (!error.empty())
    why += "; and the known pods may be outdated: " + error;
  ask.done(plughost::answer_without_pod(*ask.snapshot, ask.ids.count, why, without_isolation()));
}

// Refuses the start if the checkpoint cannot be read, as LateCards does: the kubelet retries.
void GuessedCards::prepare_start(SharedSnapshot snapshot, const IdSet& ids, StartDone done) {
  assuming_.read_checkpoint(
      lifetime_.bound([this, snapshot = std::move(snapshot), ids,
                       done = std::move(done)](const std::shared_ptr<const Checkpoint>& checkpoint) {
        if (!checkpoint)
          return done("the kubelet's checkpoint, which records the pod of these devices, cannot be read");
        const std::vector<HeldUnits> held = held_units(*checkpoint, resource_);
        settle(held, EventLoop::Clock::now() - kUnsettled);
        const auto holder = holder_of(held, ids);
        if (const auto* const error = std::get_if<std::string>(&holder)) return done(*error);
        const HeldUnits& its = *std::get<const HeldUnits*>(holder);
        // Containers of one pod may hold the same ids one after the other, and PreStartContainer does not
        // identify the container that starts.
        std::set<std::string> given;
        for (const HeldUnits& each : held) {
          const bool asked = each.pod_uid == its.pod_uid && each.ids == its.ids;
          const Allocation* const answer = asked ? answer_for(*checkpoint, resource_, each) : nullptr;
          if (answer) given.insert(card_in(terms_, answer->env));
        }
        given.erase("");  // from answers that name no card
        const auto known = guesses_.find(ids.name);
        if (known != guesses_.end() && known->second.wrong) given.insert(known->second.card);
        check_card(*snapshot, its.pod_uid, given, done);
      }));
}

void GuessedCards::check_card(const ResourceSnapshot& snapshot, const std::string& uid,
                              const std::set<std::string>& given, const StartDone& done) {
  // With `onlyCard` a node's only card is allocated to unknown pods as well; no pod can have another card.
  if (given.empty() || (terms_.only_card && snapshot.inventory.devices().size() == 1)) return done("");
  const auto decide = [this, uid, given, done] {
    const AskingPod* const pod = pods_.book().find(uid);
    if (!pod) return false;
    std::string why;
    for (const std::string& card : given) {
      if (why.empty()) why = why_not_on(terms_, *pod, card);
    }
    done(why);
    return true;
  };
  // A pod's first card never changes, so a known pod needs no query.
  if (decide()) return;
  pods_.until(uid, decide, [uid, done](const std::string& error) {
    const std::string why = "no pod on this node has the UID " + uid + ", as far as is known";
    done(error.empty() ? why : why + ": " + error);
  });
}

void GuessedCards::settle_later() {
  assuming_.read_checkpoint(lifetime_.bound([this](const std::shared_ptr<const Checkpoint>& checkpoint) {
    const Time old = EventLoop::Clock::now() - kUnsettled;
    if (checkpoint) settle(held_units(*checkpoint, resource_), old);
    // If the checkpoint cannot be read, a later Allocate or start settles older guesses.
    const bool young = std::ranges::any_of(
        guesses_, [&](const auto& item) { return !item.second.wrong && item.second.at > old; });
    if (young && !settling_.armed()) settling_.arm(kSettling);
  }));
}

void GuessedCards::settle(const std::vector<HeldUnits>& held, Time old) {
  for (auto next = guesses_.begin(); next != guesses_.end();) {
    const auto each = next++;
    Answer& answer = each->second;
    const Guess& guess = answer.guess;
    const GuessIs it = settled(guess, held, answer.wrong || answer.at <= old);
    if (!answer.wrong && (it == GuessIs::kWrong || it == GuessIs::kVoid)) {
      for (const std::string& container : guess.containers) answered_.erase({guess.pod, container});
    }
    answer.wrong = it == GuessIs::kWrong;
    if (it == GuessIs::kRight || it == GuessIs::kVoid) guesses_.erase(each);
  }
  mark(held);
}

// Forgets answers to pods that are not Pending any more, or are gone: they are no candidates.
void GuessedCards::on_pods() {
  std::erase_if(answered_, [this](const auto& answered) {
    const AskingPod* const pod = pods_.book().find(answered.first);
    return !pod || pod->phase != "Pending";
  });
}

}  // namespace

std::unique_ptr<AssumedCards> guessed_cards(Assuming& assuming, const ResourceSnapshot& snapshot) {
  return std::make_unique<GuessedCards>(assuming, snapshot);
}

}  // namespace plughost
