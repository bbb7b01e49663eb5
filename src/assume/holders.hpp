#pragma once
// Who holds a resource's units by the kubelet's checkpoint: for an answer that is a name, and what that
// stands for is decided when the container starts; and for one of which it was guessed which pod it is for.
// Pure functions of values, thread-safe.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assume/pod.hpp"

namespace plughost {

// What the kubelet's checkpoint says of one container and the resource.
struct HeldUnits {
  std::string pod_uid;
  std::string container;
  std::set<std::string> ids;
};

// How each of these names begins, and no device's own.
inline constexpr const char* kLateBeginning = "late-";
// The CDI device's name, in the resource's kind: the same for the same ids in any order.
std::string late_device(std::string_view resource, std::span<const std::string> ids);

// Who holds exactly these ids. Containers of one pod may, one after the other. Or why nobody can be told, as
// a sentence.
std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held,
                                                      std::span<const std::string> ids);

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

// A new value for the annotation that names a pod's card.
struct NewCard {
  const AskingPod* pod;
  std::string card;
};

// `real`, by the kubelet's checkpoint, has been given the card `given` (as the annotation names it) that was
// meant for another pod: so that annotations say what containers see, and sums stay as the scheduler counted
// them, the two have each other's. The other one is the pod that was `meant`, by its UID, if its annotation
// has that card; else, after an exchange before this one, the first of the rest that has it, asks for as
// much and is no more than waiting. Empty: nothing to exchange. One: nobody has that card.
std::vector<NewCard> exchange(std::span<const AskingPod* const> pods, const AskingPod& real,
                              const std::string& given, const std::string& meant);

}  // namespace plughost
