#pragma once
// From what is found on a node and from a configuration to the files that the two need. Reads only; may block
// on the file system.

#include <filesystem>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "tools/setup/files.hpp"
#include "tools/setup/needs.hpp"

namespace plughost {

struct SetupTerms {
  std::filesystem::path config = kConfigFile;  // as it is called on the node
  std::string kubernetes;                      // the distribution's name; empty: as is found
  std::string program;  // as this program is called on the node; empty: it is not there
};

struct SetupPlan {
  std::vector<std::string> found;    // sentences
  std::vector<std::string> remarks;  // what somebody should know, or do by hand
  std::vector<Need> needs;           // that the unit does not meet
  std::vector<PlannedFile> files;
  bool enabled = false;  // the unit starts with the machine
};

// Throws SetupError, and ConfigError if the configuration has errors.
SetupPlan plan_setup(const HostRoot& host, const SetupTerms& terms);

// The files of a node where setup has never been.
std::vector<PlannedFile> plan_undo(const std::filesystem::path& config);

}  // namespace plughost
