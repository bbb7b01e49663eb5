#pragma once
// Records what a node is: what conditions and kinds look at, and no secrets. Blocks on the file system and on
// drivers; any thread.

#include <string>
#include <vector>

#include "config/config.hpp"
#include "host/hardware/host_root.hpp"
#include "host/hardware/nvml.hpp"
#include "tools/plan/facts.hpp"

namespace plughost {

struct RecordingTerms {
  const Config* config = nullptr;  // what its entries look at is recorded, too; nullptr: there is none
  std::vector<std::string> paths;  // patterns: the names and types of what is there
  std::string now;                 // "2026-01-31T12:00:00Z"
  NvmlView nvml;
  std::size_t most_devices = 2000;  // of a subsystem
  std::size_t most_names = 20'000;  // of files outside /sys and /proc
};

struct Recording {
  Facts facts;
  std::vector<std::string> remarks;  // which limit left something out
};

Recording record(const HostRoot& host, const RecordingTerms& terms);

}  // namespace plughost
