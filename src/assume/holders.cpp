#include "assume/holders.hpp"

#include <algorithm>

#include "device/names.hpp"

namespace plughost {

std::string late_device(std::string_view resource, std::span<const std::string> ids) {
  const std::set<std::string> sorted(ids.begin(), ids.end());
  std::string text(resource);
  for (const std::string& id : sorted) text += '\n' + id;
  return kLateBeginning + hex_digits(fnv1a(text)) + hex_digits(fnv1a(text, kOtherFnvStart));
}

std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held,
                                                      std::span<const std::string> ids) {
  const std::set<std::string> asked(ids.begin(), ids.end());
  const HeldUnits* found = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != asked) continue;
    if (found && found->pod_uid != each.pod_uid)
      return "the kubelet's checkpoint has these devices for two pods, " + found->pod_uid + " and " +
             each.pod_uid;
    found = &each;
  }
  if (!found)
    return "the kubelet's checkpoint has no container with exactly these " + std::to_string(asked.size()) +
           " devices";
  return found;
}

AnsweredContainers holders_of(std::span<const HeldUnits> held, std::span<const std::string> ids) {
  const std::set<std::string> asked(ids.begin(), ids.end());
  AnsweredContainers holders;
  for (const HeldUnits& each : held) {
    if (each.ids == asked) holders.emplace(each.pod_uid, each.container);
  }
  return holders;
}

GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old) {
  const std::set<std::string> asked(guess.ids.begin(), guess.ids.end());
  const GuessIs unknown = old ? GuessIs::kVoid : GuessIs::kOpen;
  const HeldUnits* holder = nullptr;
  for (const HeldUnits& each : held) {
    if (each.ids != asked || guess.former.contains({each.pod_uid, each.container})) continue;
    if (holder && holder->pod_uid != each.pod_uid) return unknown;
    holder = &each;
  }
  if (!holder) return unknown;
  return holder->pod_uid == guess.pod ? GuessIs::kRight : GuessIs::kWrong;
}

}  // namespace plughost
