#pragma once
// What the containers of claims would get, with claims from a file in the API server's place. Blocks; any
// thread.

#include <span>

#include "commands/command.hpp"
#include "config/config.hpp"
#include "device/offer.hpp"
#include "host/host_root.hpp"

namespace plughost {

// The exit code. The node is taken to be the one whose devices a claim has. Throws std::runtime_error: there
// is no answer, and why.
int simulate_claims(const HostRoot& host, const Config& config, std::span<const Offer> offers,
                    const SimulateOptions& options);

}  // namespace plughost
