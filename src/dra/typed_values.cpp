#include "dra/typed_values.hpp"

#include <algorithm>
#include <limits>

#include "base/number.hpp"

namespace plughost {

std::string_view attribute_of(const DraTerms& terms, AttributeType type) {
  const auto found = std::ranges::find(terms.types, type, [](const auto& each) { return each.second; });
  return found == terms.types.end() ? std::string_view() : std::string_view(found->first);
}

std::string typed_value(const DraTerms& terms, const Device& device, AttributeType type) {
  const std::string_view name = attribute_of(terms, type);
  const std::string* const value = name.empty() ? nullptr : device.attribute(name);
  return value ? *value : std::string();
}

std::optional<std::int64_t> bytes_of(const std::string& mebibytes) {
  constexpr auto kMiB = static_cast<std::int64_t>(CardUnit::kMiB);
  const auto number = number_in<std::int64_t>(mebibytes, std::numeric_limits<std::int64_t>::max() / kMiB);
  if (!number || *number <= 0) return std::nullopt;
  return *number * kMiB;
}

std::optional<std::int64_t> memory_of(const DraTerms& terms, const Device& device) {
  return bytes_of(typed_value(terms, device, AttributeType::kMemory));
}

}  // namespace plughost
