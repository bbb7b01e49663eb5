#pragma once
// One look at the machine: what a configuration would advertise now. Blocks; any thread.

#include <string>
#include <vector>

#include "config/config.hpp"
#include "device/assembly.hpp"
#include "device/offer.hpp"
#include "host/host_root.hpp"

namespace plughost {

// What one look for an entry's devices finds.
struct Look {
  Assembly assembly;
  Scan scan;  // without its devices and remarks, which are in the assembly
};
// Throws what DeviceSource::scan throws.
Look look(const DeviceSource& source, const Recipe& recipe, const HostRoot& host);

struct Survey {
  std::vector<Offer> offers;          // by name
  std::vector<std::string> troubles;  // entries that could not be looked at
  std::vector<std::string> remarks;
};
Survey survey(const Config& config, const HostRoot& host);

}  // namespace plughost
