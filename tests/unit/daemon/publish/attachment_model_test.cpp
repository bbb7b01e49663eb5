// Explores every order of events of an attachment, on a model of the node. `./dev model` explores longer
// orders.

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "unit/daemon/publish/node_model.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// Builds without optimization or with instrumentation are many times slower.
#ifdef __OPTIMIZE__
constexpr int kDepth = 12;
constexpr std::size_t kFewest = 1'000'000;
#elif defined(PLUGHOST_SANITIZED)
constexpr int kDepth = 7;
constexpr std::size_t kFewest = 10'000;
#else
constexpr int kDepth = 8;
constexpr std::size_t kFewest = 30'000;
#endif

int chosen_depth() {
  const char* const chosen = std::getenv("PLUGHOST_MODEL_DEPTH");
  return chosen == nullptr ? kDepth : std::atoi(chosen);
}

// A set of random numbers other than 0. With std::unordered_set, the set would need a quarter of the test's
// time.
class Known {
 public:
  // Adds the number. Returns false if the set contains the number already.
  bool add(std::uint64_t number) {
    if (2 * ++count_ > slots_.size()) {
      std::vector<std::uint64_t> former(2 * slots_.size());
      former.swap(slots_);
      for (const std::uint64_t each : former)
        if (each != 0) slot_of(each) = each;
    }
    std::uint64_t& slot = slot_of(number);
    if (slot == number) --count_;
    return std::exchange(slot, number) != number;
  }

 private:
  std::uint64_t& slot_of(std::uint64_t number) {
    std::size_t at = number & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != number) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1 << 16);
  std::size_t count_ = 0;
};

// The move by which a state was first reached.
struct Reached {
  std::uint32_t from = 0;  // 0: the initial state
  Move by;
};

// Explores the states breadth-first, so that a counterexample has the fewest events.
class Exploration {
 public:
  explicit Exploration(const Scene& scene) : scene_(scene) {
    NodeModel first(scene);
    first.tidy();
    known_.add(first.hash());
    reached_.push_back({});
    newest_.push_back({first, 0});
  }

  // Adds all states to which one more event leads. Returns false if one of these states breaks a rule; see
  // counterexample().
  bool go_on() {
    std::vector<State> next;
    std::vector<Move> moves;
    for (const State& state : newest_) {
      state.node.moves(moves);
      for (const Move& move : moves) {
        NodeModel node = state.node;
        node.make(move);
        if (const char* error = node.error()) return fail(error, state.number, move);
        node.tidy();
        if (!known_.add(node.hash())) continue;
        const auto time = node.time_to_calm();
        if (!time) return fail("if nothing more happened, it would never be attached", state.number, move);
        if (*time > node.allowed()) {
          return fail("if nothing more happened, it would be attached after " +
                          std::to_string(time->count()) + " ms, and " +
                          std::to_string(node.allowed().count()) + " are allowed",
                      state.number, move);
        }
        reached_.push_back({state.number, move});
        next.push_back({node, static_cast<std::uint32_t>(reached_.size() - 1)});
      }
    }
    newest_ = std::move(next);
    return true;
  }

  std::size_t states() const { return reached_.size(); }
  const std::string& counterexample() const { return counterexample_; }

 private:
  struct State {
    NodeModel node;
    std::uint32_t number = 0;
  };

  bool fail(const std::string& why, std::uint32_t number, const Move& last) {
    std::vector<Move> way{last};
    for (; number != 0; number = reached_[number].from) way.push_back(reached_[number].by);
    counterexample_ = why + ":\n";
    NodeModel node(scene_);
    for (auto move = way.rbegin(); move != way.rend(); ++move) {
      node.make(*move);
      counterexample_ += "  " + to_text(*move) + " → " + node.text() + "\n";
      node.tidy();
    }
    return false;
  }

  const Scene& scene_;
  Known known_;  // hashes of the known states
  std::vector<Reached> reached_;
  std::vector<State> newest_;
  std::string counterexample_;
};

std::vector<Scene> scenes() {
  using enum Move::Kind;
  std::vector<Scene> scenes{
      {.name = "everything",
       .less_deep = 4,
       .happens = {kStarts, kDies, kRefuses, kEndsStream, kHangs, kSocketTouched, kSocketGone, kSocketStale,
                   kOwnSocketGone, kDirectoryGone, kStopped, kKilled, kRemoved, kAgain, kRead, kTime,
                   kSleep}},
      {.name = "it is registered again, files, and we are stopped",
       .happens = {kStarts, kDies, kRefuses, kEndsStream, kAgain, kStopped, kSocketTouched, kSocketGone,
                   kOwnSocketGone}},
      {.name = "it is registered again, kubelets hang, and time passes",
       .happens = {kStarts, kDies, kEndsStream, kAgain, kHangs, kKilled, kTime}},
      {.name = "files, and we are killed",
       .happens = {kStarts, kDies, kEndsStream, kKilled, kRemoved, kSocketTouched, kSocketChanged,
                   kSocketGone, kSocketStale, kOwnSocketGone, kDirectoryGone}},
      {.name = "files, and we are stopped",
       .happens = {kStarts, kDies, kEndsStream, kStopped, kSleep, kSocketTouched, kSocketGone, kOwnSocketGone,
                   kDirectoryGone}},
      {.name = "we are stopped and killed, and time passes",
       .happens = {kStarts, kDies, kEndsStream, kStopped, kKilled, kRemoved, kTime}},
      {.name = "a stranger reads, and we are stopped and killed",
       .happens = {kStarts, kDies, kEndsStream, kRead, kStopped, kKilled, kOwnSocketGone}},
      {.name = "kubelets hang and refuse, and we are stopped",
       .happens = {kStarts, kDies, kEndsStream, kHangs, kRefuses, kSocketTouched, kSocketChanged, kStopped,
                   kSleep}},
      {.name = "old kubelets hang, and we are stopped and killed",
       .answers_first = true,
       .happens = {kStarts, kDies, kEndsStream, kHangs, kStopped, kKilled, kSocketTouched}},
      {.name = "old kubelets refuse, files, and we are stopped",
       .answers_first = true,
       .happens = {kStarts, kDies, kEndsStream, kRefuses, kStopped, kSleep, kSocketTouched, kSocketGone,
                   kOwnSocketGone, kDirectoryGone}},
      {.name = "everything, in plugins_registry",
       .finds = true,
       .happens = {kStarts, kDies, kRefuses, kEndsStream, kHangs, kOwnSocketGone, kDirectoryGone, kStopped,
                   kKilled, kRemoved, kAgain, kRead, kTime, kSleep}},
      {.name = "plugins_registry, and we are stopped",
       .finds = true,
       .less_deep = -8,
       .happens = {kStarts, kDies, kStopped}},
  };
  // Kubelets from 1.37 on live the same lives.
  for (std::size_t i = 0, count = scenes.size(); i < count; ++i) {
    if (scenes[i].finds || scenes[i].answers_first) continue;
    scenes.push_back(scenes[i]);
    scenes.back().several = true;
  }
  return scenes;
}

}  // namespace

TEST_CASE(
    "attachment: in every order of events the kubelet is called only when allowed, and the resource attached "
    "in time") {
  std::size_t states = 0;
  for (const Scene& scene : scenes()) {
    const std::string name = scene.name + std::string(scene.several ? ", from 1.37 on" : "");
    CAPTURE(name);
    Exploration exploration(scene);
    bool right = true;
    const int depth = chosen_depth() - scene.less_deep;
    for (int i = 0; i < depth && right; ++i) right = exploration.go_on();
    INFO(exploration.counterexample());
    CHECK(right);
    states += exploration.states();
    MESSAGE(exploration.states(), " states by every order of ", depth, " events: ", name);
  }
  MESSAGE(states, " states");
  if (chosen_depth() >= kDepth) CHECK(states >= kFewest);
}
