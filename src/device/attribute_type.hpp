#pragma once
// What the value of an attribute is, whatever the device. Plain values.

#include <string_view>

namespace plughost {

enum class AttributeType {
  kText,
  kNumber,         // decimal
  kFlag,           // true or false
  kMemory,         // a capacity, in MiB
  kWhole,          // what it is a part of; such parts share what the whole has
  kMemoryOfWhole,  // in MiB
  kSlicesOfWhole,  // of its memory, as "first:count"
  kCountOfWhole,   // a number of what the whole has so many of as its parts have together
  kParts,          // a number: it is the whole of so many devices that are beside it
};

struct TypedAttribute {
  std::string_view name;
  AttributeType type = AttributeType::kText;
};

}  // namespace plughost
