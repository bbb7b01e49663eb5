#pragma once
// What Dynamic Resource Allocation costs: devices in an API server instead of in the kubelet's lists.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace plughost::bench {

// Kubeconfig files of a real API server, which has nothing else to do.
struct RealApiServer {
  std::string node;           // the daemon's: of the node worker-1
  std::string administrator;  // ours
};

// Against an API server in this process where there is no real one. idle 0: that is not measured.
void measure_dra(const std::optional<RealApiServer>& real, std::size_t rounds, std::chrono::seconds idle);

}  // namespace plughost::bench
