#pragma once
// Who holds a resource's units by the kubelet's checkpoint: for an answer that is a name, and what that
// stands for is decided when the container starts; and for one of which it was guessed which pod it is for.
// Pure functions of values, thread-safe.

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "model/assume/pod.hpp"
#include "model/device/names.hpp"

namespace plughost {

// What the kubelet's checkpoint says of one container and the resource.
struct HeldUnits {
  std::string pod_uid;
  std::string container;
  IdSet ids;
};

// How each of these names begins, and no device's own.
inline constexpr const char* kLateBeginning = "late-";
// The CDI device's name, in the resource's kind.
std::string late_device(const IdSet& ids);

// Who holds exactly these ids. Containers of one pod may, one after the other. Or why nobody can be told, as
// a sentence.
std::variant<const HeldUnits*, std::string> holder_of(std::span<const HeldUnits> held, const IdSet& ids);

struct Guess {
  IdSet ids;
  std::string pod;  // its UID
  std::vector<std::string> containers;
  // Who held exactly these ids when they were asked for: the kubelet takes them from a pod that has ended,
  // and its checkpoint says so only when it is next written.
  AnsweredContainers former;
};

// Who holds exactly these ids.
AnsweredContainers holders_of(std::span<const HeldUnits> held, const IdSet& ids);

enum class GuessIs {
  kOpen,   // the checkpoint does not have the ids yet
  kRight,  // the guessed pod holds the ids
  kWrong,  // another pod holds the ids
  kVoid,   // no pod will hold the ids: the kubelet has refused the pod
};

// Compares a guess with the checkpoint. old: the kubelet has had the time to write these ids.
GuessIs settled(const Guess& guess, std::span<const HeldUnits> held, bool old);

}  // namespace plughost
