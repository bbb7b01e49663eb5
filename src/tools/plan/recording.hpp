#pragma once
// Records a node: everything that conditions and kinds read, without secrets. Blocks on the file system and
// on drivers; any thread.

#include <string>
#include <vector>

#include "config/config.hpp"
#include "host/hardware/host_root.hpp"
#include "host/hardware/nvml.hpp"
#include "tools/plan/facts.hpp"

namespace plughost {

struct RecordingTerms {
  const Config* config = nullptr;  // also records what its entries read; nullptr: none
  std::vector<std::string> paths;  // patterns of paths whose names and types are recorded
  std::string now;                 // "2026-01-31T12:00:00Z"
  NvmlView nvml;
  std::size_t most_devices = 2000;  // per subsystem
  std::size_t most_names = 20'000;  // files outside /sys and /proc
};

struct Recording {
  Facts facts;
  std::vector<std::string> remarks;  // limits because of which something was left out
};

Recording record(const HostRoot& host, const RecordingTerms& terms);

}  // namespace plughost
