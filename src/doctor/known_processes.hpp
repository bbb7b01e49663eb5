#pragma once
// The processes that checks ask for by what they are. Thread-safe.

#include <optional>
#include <vector>

#include "doctor/observed.hpp"
#include "system/process.hpp"

namespace plughost {

// The one that listens on the kubelet's socket; nullopt: none, or it may not be seen.
std::optional<SeenProcess> kubelet_process(const HostRoot& host, const Observed& observed);
// Every `plughost run`.
std::vector<SeenProcess> daemons(const HostRoot& host);

}  // namespace plughost
