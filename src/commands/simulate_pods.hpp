#pragma once
// What a container gets whose card a scheduler has chosen, with pods from a file in the API server's place.
// Blocks; any thread.

#include <cstdint>
#include <optional>
#include <string>

#include "commands/command.hpp"
#include "device/offer.hpp"
#include "host/host_root.hpp"

namespace plughost {

// The exit code. The offer's recipe has an assume. units: that a container asks for; nullopt: was not said.
// Throws std::runtime_error: there is no answer, and why.
int simulate_pods(const HostRoot& host, const Offer& offer, std::optional<std::uint64_t> units,
                  const SimulateOptions& options);

}  // namespace plughost
