#pragma once
// Ids of hardware, in hexadecimal as people write them: 15b3, 0x15B3, "0451". They are read from the text
// itself: YAML's numbers would make 0451 octal and 1209 decimal. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/fields.hpp"

namespace plughost {

// The digits in lower case. nullopt unless the text has as many digits as that; after 0x leading zeros may be
// missing.
std::optional<std::string> hex_digits(std::string_view text, std::size_t digits);

// A vendor's or a product's id in sysfs's form, four digits in lower case. Absent: empty; what is none is
// reported.
std::string read_hex_id(Fields& fields, std::string_view key);
// A list of them, or one.
std::vector<std::string> read_hex_ids(Fields& fields, std::string_view key);

}  // namespace plughost
