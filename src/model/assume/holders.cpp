#include "model/assume/holders.hpp"

#include <algorithm>

namespace plughost {

std::string late_device(const IdSet& ids) { return kLateBeginning + ids.name; }

std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held, const IdSet& ids) {
  const HeldUnits* found = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != ids) continue;
    if (found && found->pod_uid != each.pod_uid)
      return "the kubelet's checkpoint has these devices for two pods, " + found->pod_uid + " and " +
             each.pod_uid;
    found = &each;
  }
  if (!found)
    return "the kubelet's checkpoint has no container with exactly these " + std::to_string(ids.count) +
           " devices";
  return found;
}

AnsweredContainers holders_of(std::span<const HeldUnits> held, const IdSet& ids) {
  AnsweredContainers holders;
  for (const HeldUnits& each : held) {
    if (each.ids == ids) holders.emplace(each.pod_uid, each.container);
  }
  return holders;
}

GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old) {
  const GuessIs unknown = old ? GuessIs::kVoid : GuessIs::kOpen;
  const HeldUnits* holder = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != guess.ids || guess.former.contains({each.pod_uid, each.container})) continue;
    if (holder && holder->pod_uid != each.pod_uid) return unknown;
    holder = &each;
  }
  if (!holder) return unknown;
  return holder->pod_uid == guess.pod ? GuessIs::kRight : GuessIs::kWrong;
}

}  // namespace plughost
