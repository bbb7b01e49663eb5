#pragma once
// Kubernetes quantities: 1000 is printed as 1k. Pure, thread-safe. Source:
// k8s.io/apimachinery/pkg/api/resource/quantity.go.

#include <cstdint>
#include <optional>
#include <string_view>

namespace plughost {

// Parses a whole number: "1k", "1Ki", "1e3", "0.5k". Returns nullopt if the text is malformed, negative, has
// a fraction ("500m" is a half) or exceeds 2^64 - 1.
std::optional<std::uint64_t> whole_quantity(std::string_view text);

}  // namespace plughost
