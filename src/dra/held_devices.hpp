#pragma once
// Devices that claims hold, and no entry offers any more. Pure functions, thread-safe.

#include <map>
#include <span>
#include <string>

#include "dra/advertised.hpp"
#include "dra/claim_file.hpp"
#include "dra/pool.hpp"

namespace plughost {

// By pool.
std::map<std::string, DeviceNames> held_devices(std::span<const PreparedClaim> claims);

// A pool has what claims hold until they give it back: what the pool lacks of it gets a place there, with
// nothing but a taint.
void add_held(Pool& pool, const DeviceNames& held, const DraFeatures& features);

}  // namespace plughost
