#pragma once
// What the containers of a pod get whose card a scheduler has chosen. Blocks; any thread.

#include <cstdint>
#include <optional>
#include <string>

#include "allocate/offer.hpp"
#include "commands/command.hpp"
#include "config/config.hpp"
#include "host/host_root.hpp"

namespace plughost {

// The exit code. The offer's recipe has an assume. pod: "namespace/name". units: of a container; nullopt: of
// whichever. Throws std::runtime_error: there is no answer, and why.
int simulate_pod(const HostRoot& host, const Config& config, const Offer& offer, const std::string& pod,
                 std::optional<std::uint64_t> units, OutputFormat format);

}  // namespace plughost
