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

// By resource, and there by id, as the kubelet knows them: those of replicas.
using Holdings = std::map<std::string, std::map<std::string, Holder, std::less<>>, std::less<>>;

}  // namespace plughost
