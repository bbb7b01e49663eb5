#pragma once
// From what is found on a node and from a configuration to the files that the two need: as texts, what is to
// be done for them, and doing it. May block on the file system.

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
// By which `systemctl enable` has it start with the machine.
inline constexpr const char* kOwnUnitLink = "/etc/systemd/system/multi-user.target.wants/plughost.service";
inline constexpr const char* kSysusers = "/etc/sysusers.d/plughost.conf";

// A file that begins so is ours, and no other is ever written to or removed.
inline constexpr std::string_view kSetupMark = "# Written by plughost setup";
bool is_of_setup(std::string_view text);

struct PlannedFile {
  std::string path;
  std::string text;  // empty: there is to be none of ours

  bool operator==(const PlannedFile&) const = default;
};

// Of the unit; empty: it needs nothing.
std::string drop_in_text(std::span<const Need> needs);
// For the configuration: where this node's kubelet and container runtime have what is elsewhere than usual.
// settings: nullptr: not known. Empty: all is where it usually is.
std::string node_file_text(const Kubernetes& kubernetes, const RuntimeSettings* settings);
// The unit that comes with plughost, for a program at that place.
std::string unit_text(std::string_view program);
// The group that the unit needs.
std::string sysusers_text();

// What cannot be done, in a sentence.
struct SetupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FileChange {
  std::string path;
  std::optional<std::string> before;  // nullopt: there is no such file
  std::optional<std::string> after;   // nullopt: it is taken away

  // As `diff -u` and patch(1) have it, with all of both texts, so that what stays is seen, too. Empty:
  // nothing changes.
  std::string diff() const;
  bool operator==(const FileChange&) const = default;
};

// Of the files those that are not as they are planned. One that is not ours, and is in the way, is a
// SetupError; one that is not in the way is left alone.
std::vector<FileChange> changes_of(const HostRoot& host, std::span<const PlannedFile> files);

// In their order, each at once or not at all: the first that cannot be made is a SetupError that says what
// was done before. A directory that is empty then goes with its last file.
void make_changes(const HostRoot& host, std::span<const FileChange> all);

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
