#pragma once
// Which containers hold which devices. Plain values.

#include <compare>
#include <map>
#include <string>

namespace plughost {

struct Holder {
  std::string pod_namespace;  // empty: only the pod's UID is known
  std::string pod;            // its name, or its UID
  std::string container;

  auto operator<=>(const Holder&) const = default;
};

// By id, as the kubelet knows them: those of replicas. Two pods hold one id only if the kubelet has given it
// twice.
using HoldersOfIds = std::multimap<std::string, Holder, std::less<>>;
// By resource.
using Holdings = std::map<std::string, HoldersOfIds, std::less<>>;
// Of a pod's containers that hold an id, as an init container and the one after it, the last counts.
void note_holder(HoldersOfIds& holders, const std::string& id, const Holder& holder);

}  // namespace plughost
