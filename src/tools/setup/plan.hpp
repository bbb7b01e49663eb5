#pragma once
// Plans the files that a node and its configuration need, as texts, and writes them. May block on the file
// system.

#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/services/runtime_settings.hpp"
#include "tools/setup/needs.hpp"

namespace plughost {

inline constexpr const char* kPlughostUnit = "plughost.service";
inline constexpr const char* kDropIn = "/etc/systemd/system/plughost.service.d/10-setup.conf";
inline constexpr const char* kOwnUnit = "/etc/systemd/system/plughost.service";
// Link by which `systemctl enable` starts the service with the machine.
inline constexpr const char* kOwnUnitLink = "/etc/systemd/system/multi-user.target.wants/plughost.service";
inline constexpr const char* kSysusers = "/etc/sysusers.d/plughost.conf";

// First line of our files. No other file is ever written or removed.
inline constexpr std::string_view kSetupMark = "# Written by plughost setup";
bool is_of_setup(std::string_view text);

struct PlannedFile {
  std::string path;
  std::string text;  // empty: the file must not exist

  bool operator==(const PlannedFile&) const = default;
};

// Returns the text of the unit's drop-in; empty if there are no needs.
std::string drop_in_text(std::span<const Need> needs);
// Returns node.yaml: the paths of this node's kubelet and container runtime that are not the usual ones;
// empty if all are usual. `settings` is nullptr if the runtime's settings are unknown.
std::string node_file_text(const Kubernetes& kubernetes, const RuntimeSettings* settings);
// Returns plughost's unit for a program at that path.
std::string unit_text(std::string_view program);
// Returns the definition of the group that the unit needs.
std::string sysusers_text();

// Thrown if a step cannot be done; what() is a sentence.
struct SetupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FileChange {
  std::string path;
  std::optional<std::string> before;  // nullopt: no such file
  std::optional<std::string> after;   // nullopt: removed

  // Returns the change in the form of `diff -u` and patch(1), with the whole of both texts, so that the
  // unchanged lines are visible. Empty: no change.
  std::string diff() const;
  bool operator==(const FileChange&) const = default;
};

// Returns the files that differ from the plan. Throws SetupError if the plan would replace a file that is not
// ours. If the plan would remove such a file, leaves the file.
std::vector<FileChange> changes_of(const HostRoot& host, std::span<const PlannedFile> files);

// Makes the changes in order, each completely or not at all. Throws SetupError at the first failure; its text
// names the changes made before. Removes a directory with its last file.
void make_changes(const HostRoot& host, std::span<const FileChange> all);

struct SetupTerms {
  std::filesystem::path config = kConfigFile;  // path on the node
  std::string kubernetes;                      // the distribution's name; empty: detected
  std::string program;                         // path of this program on the node; empty: missing there
};

struct SetupPlan {
  std::vector<std::string> found;    // sentences
  std::vector<std::string> remarks;  // for the operator to know or to do by hand
  std::vector<Need> needs;           // not met by the unit
  std::vector<PlannedFile> files;
  bool enabled = false;  // the unit starts with the machine
};

// Throws SetupError, and ConfigError if the configuration has errors.
SetupPlan plan_setup(const HostRoot& host, const SetupTerms& terms);

// Returns the files of a node without setup.
std::vector<PlannedFile> plan_undo(const std::filesystem::path& config);

}  // namespace plughost
