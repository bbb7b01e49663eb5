#pragma once
// Computes what a configuration needs from systemd but does not get from the present unit. Pure functions;
// thread-safe.

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
  std::string what;  // a sentence without its full stop: what has the need, and why
  std::vector<Setting> settings;

  bool operator==(const Need&) const = default;
};

inline constexpr const char* kPackagedProgram = "/usr/bin/plughost";

// Returns what the entries do that the unit's sandbox forbids. All entries count, whether they apply now or
// not, because the sandbox must not depend on devices that come and go.
SandboxNeeds sandbox_needs(const Config& config);

// Properties of the node on which the needs depend.
struct NodeTerms {
  Kubernetes kubernetes;
  std::string program = kPackagedProgram;  // the program that the unit starts
  std::string restorecon;  // program that restores the labels of SELinux's policy; empty: SELinux is off
};

// Returns all needs, in the order of the file.
std::vector<Need> needs_of(const Config& config, const NodeTerms& node);
// Returns the needs that the unit does not meet.
std::vector<Need> unmet(std::vector<Need> needs, const UnitSettings& unit);

}  // namespace plughost
