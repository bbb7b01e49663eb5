#pragma once
// Kubernetes' way of writing a number: 1000 is printed as 1k. Pure, thread-safe. Source:
// k8s.io/apimachinery/pkg/api/resource/quantity.go.

#include <cstdint>
#include <optional>
#include <string_view>

namespace plughost {

// The whole number that the text says: "1k", "1Ki", "1e3", "0.5k". nullopt: it says none, one below zero or
// with a fraction ("500m" is a half), or one above 2^64 - 1.
std::optional<std::uint64_t> whole_quantity(std::string_view text);

}  // namespace plughost
