#include "assume/guess.hpp"

#include <set>

namespace plughost {

AnsweredContainers holders_of(std::span<const HeldUnits> held, std::span<const std::string> ids) {
  const std::set<std::string> asked(ids.begin(), ids.end());
  AnsweredContainers holders;
  for (const HeldUnits& each : held) {
    if (each.ids == asked) holders.emplace(each.pod_uid, each.container);
  }
  return holders;
}

SettledGuess settled(const Guess& guess, std::span<const HeldUnits> held, bool old) {
  const std::set<std::string> asked(guess.ids.begin(), guess.ids.end());
  const SettledGuess unknown{.is = old ? GuessIs::kVoid : GuessIs::kOpen, .holder = nullptr};
  const HeldUnits* holder = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != asked || guess.former.contains({each.pod_uid, each.container})) continue;
    if (holder && holder->pod_uid != each.pod_uid) return unknown;
    holder = &each;
  }
  if (!holder) return unknown;
  return {.is = holder->pod_uid == guess.pod ? GuessIs::kRight : GuessIs::kWrong, .holder = holder};
}

}  // namespace plughost
