#pragma once
// What a configuration needs of a node's systemd that the unit, as it is there, does not give. Pure
// functions, thread-safe.

#include <string>
#include <vector>

#include "config/config.hpp"
#include "host/services/kubernetes.hpp"
#include "host/services/unit_file.hpp"

namespace plughost {

// A line of a unit file.
struct Setting {
  std::string section;  // "Service"
  std::string key;
  std::string value;

  std::string text() const { return key + '=' + value; }
  bool operator==(const Setting&) const = default;
};

struct Need {
  std::string what;  // a sentence without its full stop: who needs it, and why
  std::vector<Setting> settings;

  bool operator==(const Need&) const = default;
};

inline constexpr const char* kPackagedProgram = "/usr/bin/plughost";

// What the entries of a configuration do that the unit's sandbox keeps from them: of all entries, whether
// they apply on this node now or not, for what is to be opened must not change with a device that comes.
SandboxNeeds sandbox_needs(const Config& config);

// What of the node's own counts.
struct NodeTerms {
  Kubernetes kubernetes;
  std::string program = kPackagedProgram;  // that the unit starts
  std::string restorecon;  // gives files the labels that SELinux' policy has for them; empty: it is off
};

// Everything, in the order in which it stands in a file.
std::vector<Need> needs_of(const Config& config, const NodeTerms& node);
// Of these what the unit does not give.
std::vector<Need> unmet(std::vector<Need> needs, const UnitSettings& unit);

}  // namespace plughost
