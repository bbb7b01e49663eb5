#pragma once
// Which pod an Allocate was taken to be for, and what the kubelet's checkpoint says of that. Pure functions
// of values, thread-safe.

#include <span>
#include <string>
#include <vector>

#include "assume/asking_pod.hpp"
#include "assume/late.hpp"

namespace plughost {

struct Guess {
  std::vector<std::string> ids;
  std::string pod;  // its UID
  std::vector<std::string> containers;
  // Who held exactly these ids when they were asked for: the kubelet takes them from a pod that has ended,
  // and its checkpoint says so only when it is next written.
  AnsweredContainers former;
};

// Who holds exactly these ids.
AnsweredContainers holders_of(std::span<const HeldUnits> held, std::span<const std::string> ids);

enum class GuessIs {
  kOpen,   // the checkpoint does not say it yet
  kRight,  // the pod has the ids
  kWrong,  // the holder has them
  kVoid,   // so much time has passed that nobody will: the kubelet has refused the pod
};

struct SettledGuess {
  GuessIs is;
  const HeldUnits* holder;  // nullptr: nobody that is known
};

// old: the checkpoint would have it by now.
SettledGuess settled(const Guess& guess, std::span<const HeldUnits> held, bool old);

}  // namespace plughost
