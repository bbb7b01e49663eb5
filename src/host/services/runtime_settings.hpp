#pragma once
// The container runtime's settings for CDI and device nodes. The only user of TOML. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct RuntimeSettings {
  enum class Cdi {
    kOn,
    kOff,
    kOffByDefault,  // containerd 1.x, whose files cannot be distinguished from old files of containerd 2
  };
  std::string runtime;  // "containerd" or "CRI-O"
  std::string file;     // its main configuration file
  Cdi cdi = Cdi::kOn;
  std::vector<std::string> spec_dirs{"/etc/cdi", "/var/run/cdi"};
  // device_ownership_from_security_context: the pod's user owns requested device nodes.
  bool nodes_are_the_users = false;
  std::vector<std::string> errors;  // unreadable files, and why
};

// Returns the settings of the running runtime, or else of a configured runtime; nullopt if none is known.
// `containerd` is the configuration of a bundled containerd; empty if none is bundled.
std::optional<RuntimeSettings> runtime_settings(const HostRoot& host, const std::string& containerd = {});

}  // namespace plughost
