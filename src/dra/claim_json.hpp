#pragma once
// A ResourceClaim of the API server's as a value. Pure functions, thread-safe. Source:
// k8s.io/api/resource/v1/types.go; what is read here is the same in v1beta1 and v1beta2.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.hpp"
#include "dra/claim.hpp"

namespace plughost {

// Kubernetes allocates 32 at most.
inline constexpr std::size_t kMostAllocated = 128;
// As many as Kubernetes reserves a claim for; what is more is left out.
inline constexpr std::size_t kMostConsumers = 256;

// With the devices of that driver alone. Capacities that are its own have no domain. Or why the claim cannot
// be taken as it is: as a sentence on one line.
std::variant<Claim, std::string> parse_claim(const Json& object, std::string_view driver);

}  // namespace plughost
