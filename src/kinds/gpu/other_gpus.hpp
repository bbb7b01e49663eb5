#pragma once
// The cards of AMD, Intel and Iluvatar. Internal to the kind `gpu`. Worker threads: reads /sys and /dev.

#include <memory>
#include <vector>

#include "kinds/kind.hpp"

namespace plughost {

// Each returns the vendor's cards, and adds watches and its funnel to scan.
std::vector<Device> amd_gpus(const HostRoot& host, Scan& scan);
// Without the processing accelerators (class 1200), which are NPUs.
std::vector<Device> intel_gpus(const HostRoot& host, Scan& scan);
// Finds the cards by their nodes. Within a container, cards are numbered from 0.
std::vector<Device> iluvatar_gpus(const HostRoot& host, Scan& scan);

// Returns what Iluvatar's cards add to a container.
const std::shared_ptr<const KindSpec>& iluvatar_spec();

}  // namespace plughost
