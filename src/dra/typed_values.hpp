#pragma once
// What a device's attributes say by their types, as numbers. Pure functions, thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "device/attribute_type.hpp"
#include "device/device.hpp"
#include "dra/terms.hpp"

namespace plughost {

// The kind's attribute that is of the type; empty: it has none.
std::string_view attribute_of(const DraTerms& terms, AttributeType type);
// Its value; empty: the device has none.
std::string typed_value(const DraTerms& terms, const Device& device, AttributeType type);
// nullopt: the text is no number of MiB, or of none.
std::optional<std::int64_t> bytes_of(const std::string& mebibytes);
// The device's own memory, in bytes; nullopt: it is not known.
std::optional<std::int64_t> memory_of(const DraTerms& terms, const Device& device);

}  // namespace plughost
