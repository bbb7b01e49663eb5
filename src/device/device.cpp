#include "device/device.hpp"

#include <algorithm>

namespace plughost {

const std::string* Device::attribute(std::string_view name) const {
  if (name == "id") return &id;
  const auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &found->value;
}

}  // namespace plughost
