#include "model/allocate/offer.hpp"

#include <algorithm>

namespace plughost {

std::string stall_of(const Offer& offer, std::span<const std::string> ids) {
  const auto concerns = [&](const Stall& stall) {
    return !stall.terms || std::ranges::any_of(ids, [&](const std::string& id) {
      const Device* const device = offer.inventory.find(id);
      return device && device->terms == stall.terms;
    });
  };
  const auto found = std::ranges::find_if(offer.stalls, concerns);
  return found == offer.stalls.end() ? "" : found->why;
}

bool names_by_cdi(const Offer& offer) {
  const auto has_name = [](const Device& device) {
    return device.terms && device.terms->cdi != CdiNames::kNone;
  };
  return offer.spec->cdi != CdiNames::kNone || std::ranges::any_of(offer.inventory.devices(), has_name);
}

bool asks_program(const Offer& offer, std::span<const std::string> ids) {
  return std::ranges::any_of(ids, [&](const std::string& id) {
    const Device* const device = offer.inventory.find(id);
    return device && terms_of(*device, *offer.spec).allocate;
  });
}

}  // namespace plughost
