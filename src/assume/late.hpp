#pragma once
// An answer that is a name, and what it stands for is decided when the container starts. Pure functions of
// values, thread-safe.

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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

}  // namespace plughost
