#include "doctor/known_processes.hpp"

#include <algorithm>

namespace plughost {

std::optional<SeenProcess> kubelet_process(const HostRoot& host, const Observed& observed) {
  const auto owner = observed.sockets.find(observed.kubelet().directory / "kubelet.sock");
  if (owner == observed.sockets.end() || owner->second.process == 0) return std::nullopt;
  return process_of(host, owner->second.process);
}

std::vector<SeenProcess> daemons(const HostRoot& host) {
  std::vector<SeenProcess> all = processes(host);
  std::erase_if(all, [](const SeenProcess& process) {
    return process.name() != "plughost" || process.arguments.size() < 2 || process.arguments[1] != "run";
  });
  return all;
}

}  // namespace plughost
