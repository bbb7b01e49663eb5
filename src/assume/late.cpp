#include "assume/late.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "device/hash.hpp"

namespace plughost {

std::string late_device(std::string_view resource, std::span<const std::string> ids) {
  const std::set<std::string> sorted(ids.begin(), ids.end());
  std::string text(resource);
  for (const std::string& id : sorted) text += '\n' + id;
  std::string name = kLateBeginning;
  for (const std::uint64_t hash : {fnv1a(text), fnv1a(text, 0x84222325cbf29ce4u)}) {
    for (int nibble = 0; nibble < 16; ++nibble) name += lower_hex(hash >> (60 - 4 * nibble));
  }
  return name;
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

}  // namespace plughost
