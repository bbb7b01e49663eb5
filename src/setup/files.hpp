#pragma once
// The files that a node needs for plughost, as texts. Pure functions, thread-safe.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "setup/needs.hpp"
#include "system/runtime_settings.hpp"

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

}  // namespace plughost
