#include "model/allocate/resource_snapshot.hpp"

#include <algorithm>

namespace plughost {

std::string stall_of(const ResourceSnapshot& snapshot, std::span<const std::string> ids) {
  const auto concerns = [&](const Stall& stall) {
    return !stall.terms || std::ranges::any_of(ids, [&](const std::string& id) {
      const Device* const device = snapshot.inventory.find(id);
      return device && device->terms == stall.terms;
    });
  };
  const auto found = std::ranges::find_if(snapshot.stalls, concerns);
  return found == snapshot.stalls.end() ? "" : found->why;
}

bool names_by_cdi(const ResourceSnapshot& snapshot) {
  const auto has_name = [](const Device& device) {
    return device.terms && device.terms->cdi != CdiNames::kNone;
  };
  return snapshot.spec->cdi != CdiNames::kNone || std::ranges::any_of(snapshot.inventory.devices(), has_name);
}

bool asks_program(const ResourceSnapshot& snapshot, std::span<const std::string> ids) {
  return std::ranges::any_of(ids, [&](const std::string& id) {
    const Device* const device = snapshot.inventory.find(id);
    return device && terms_of(*device, *snapshot.spec).allocate;
  });
}

}  // namespace plughost
