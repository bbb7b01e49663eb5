#pragma once
// What the container runtime's configuration says of CDI and of device nodes. The only place that sees TOML.
// Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct RuntimeSettings {
  enum class Cdi {
    kOn,
    kOff,
    kOffByDefault,  // of containerd 1.x, whose files cannot be told from containerd 2's old ones
  };
  std::string runtime;  // "containerd" or "CRI-O"
  std::string file;     // where its configuration begins
  Cdi cdi = Cdi::kOn;
  std::vector<std::string> spec_dirs{"/etc/cdi", "/var/run/cdi"};
  // device_ownership_from_security_context: a pod's user owns the nodes that the kubelet asked for.
  bool nodes_are_the_users = false;
  std::vector<std::string> errors;  // files that could not be read, and why
};

// Of the runtime that runs, or whose configuration is there. containerd: where the one that this node's
// Kubernetes brings along has its own; empty: it brings none. nullopt: none is known.
std::optional<RuntimeSettings> runtime_settings(const HostRoot& host, const std::string& containerd = {});

}  // namespace plughost
