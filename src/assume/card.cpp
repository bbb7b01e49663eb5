#include "assume/card.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace plughost {
namespace {

std::string attribute_of(const Device& device, std::string_view name) {
  const std::string* const value = device.attribute(name);
  return value ? *value : "";
}

bool names_card(const AssumeTerms& terms, const std::string& text, const Device& device) {
  if (terms.card_is == CardIs::kUuid) return !text.empty() && text == uuid_of(device);
  const auto asked = number_in<unsigned>(text);
  return asked && std::to_string(*asked) == index_of(device);
}

const Device* find_card(const AssumeTerms& terms, const std::string& text, const Inventory& inventory) {
  const auto devices = inventory.devices();
  const auto found =
      std::ranges::find_if(devices, [&](const Device& device) { return names_card(terms, text, device); });
  return found == devices.end() ? nullptr : &*found;
}

std::string all_cards(const AssumeTerms& terms, const Inventory& inventory) {
  constexpr std::size_t kMostShown = 16;
  std::string text;
  std::size_t shown = 0;
  for (const Device& device : inventory.devices()) {
    if (shown++ == kMostShown) return text + ", …";
    text += (text.empty() ? "" : ", ") + card_text(terms, device);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string uuid_of(const Device& device) {
  const std::string uuid = attribute_of(device, "uuid");
  return uuid.empty() ? device.id : uuid;
}

std::string index_of(const Device& device) { return attribute_of(device, "index"); }

AssumedCard assumed_card(const Device& device, const Inventory& inventory) {
  return {.uuid = uuid_of(device),
          .index = index_of(device),
          .units = device.replicas,
          .memory = number_in<std::uint64_t>(attribute_of(device, "memory")).value_or(0),
          .total_units = inventory.id_count()};
}

std::string card_text(const AssumeTerms& terms, const Device& device) {
  return terms.card_is == CardIs::kUuid ? uuid_of(device) : index_of(device);
}

const Device* card_named(const AssumeTerms& terms, const AskingPod& pod, const Inventory& inventory) {
  return pod.card ? find_card(terms, *pod.card, inventory) : nullptr;
}

std::variant<const Device*, std::string> card_of(const AssumeTerms& terms, const AskingPod& pod,
                                                 const Inventory& inventory) {
  const std::string who = "pod " + printable(pod.name);
  if (!pod.card)
    return who + " has no annotation " + pod.names.card + ": its scheduler has not said which card it is";
  const std::string what =
      who + ": its annotation " + pod.names.card + " is \"" + printable(*pod.card) + "\"";
  if (terms.card_is == CardIs::kIndexes && pod.card->find(',') != std::string::npos)
    return what + ", and a container's units are of one card";
  const Device* const device = find_card(terms, *pod.card, inventory);
  if (!device) return what + ", and no card of this node is that; there are " + all_cards(terms, inventory);
  if (!device->trouble.empty()) return what + ", and that card is Unhealthy: " + device->trouble;
  return device;
}

const Device* only_card(const Inventory& inventory) {
  const auto devices = inventory.devices();
  return devices.size() == 1 && devices.front().trouble.empty() ? &devices.front() : nullptr;
}

}  // namespace plughost
