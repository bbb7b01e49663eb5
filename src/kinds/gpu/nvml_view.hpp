#pragma once
// The cards that NVML tells, as a value that a recorded machine has. Worker threads: asks the library.

#include <string>
#include <vector>

#include "host/host_root.hpp"
#include "host/nvml_view.hpp"
#include "kinds/gpu/nvml_cards.hpp"

namespace plughost {

// library: as dlopen takes it.
NvmlView look_at_nvml(const HostRoot& host, const std::string& library = Nvml::kLibrary);

std::vector<NvmlCard> cards_in(const NvmlView& view);

}  // namespace plughost
