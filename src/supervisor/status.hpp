#pragma once
// What the daemon tells of itself: one moment, as plain values. Immutable once made, and so thread-safe.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/health_times.hpp"
#include "device/offer.hpp"
#include "kubelet/call_tally.hpp"
#include "kubelet/holdings.hpp"

namespace plughost {

using WallTime = std::chrono::system_clock::time_point;

// How far a resource has come.
enum class Stage {
  kWaiting,      // there is no kubelet
  kRegistering,  // asked, no stream yet
  kAttached,     // a stream is open
  kBackingOff,   // the last attempt failed; another is due
};

// What became of what a resource asked of kubelets.
struct RegistrationTally {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t streams = 0;
};

struct ResourceStatus {
  std::string name;
  std::string entry;  // the name's text in the configuration
  Stage stage = Stage::kWaiting;
  WallTime since;       // of the stage
  std::string trouble;  // the last thing that went wrong; it may be over
  std::optional<WallTime> trouble_at;
  std::optional<WallTime> next_try;
  std::shared_ptr<const Offer> offer;
  HealthTimes health_times;
  RegistrationTally registrations;
  std::shared_ptr<const CallTally> calls;
};

struct EntryStatus {
  std::string name;  // its text in the configuration
  std::uint64_t scans_completed = 0;
  std::uint64_t scans_failed = 0;
  bool stalled = false;
  std::string trouble;  // the last scan's that failed or hung; it may be over
  std::optional<WallTime> trouble_at;
};

struct NodeStatus {
  bool kubelet = false;  // one is there
  std::filesystem::path kubelet_directory;
  std::optional<WallTime> kubelet_since;     // since when it is there, or is not; nullopt: not known
  std::optional<pid_t> kubelet_process;      // as far as the kernel tells
  std::vector<std::filesystem::path> files;  // of the configuration
  std::uint64_t config_hash = 0;
  std::vector<ResourceStatus> resources;  // by name
  std::vector<EntryStatus> entries;       // by name
  // Who holds what; nullptr: not known, for the reason that follows.
  std::shared_ptr<const Holdings> holdings;
  std::string holders_unknown;
};

}  // namespace plughost
