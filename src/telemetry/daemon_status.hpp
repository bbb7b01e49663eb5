#pragma once
// What the process as a whole tells of itself: one moment, as plain values. Immutable once made, and so
// thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tally.hpp"
#include "supervisor/status.hpp"

namespace plughost {

struct DaemonStatus {
  std::string version;
  WallTime started_at;
  WallTime loaded_at;                  // when the configuration that is in force was read
  std::optional<WallTime> refused_at;  // when a reload failed last; nullopt: not since loaded_at
  std::uint64_t reloads_applied = 0;
  std::uint64_t reloads_refused = 0;
  std::uint64_t kubelets = 0;  // that came
  std::uint64_t udev_events = 0;
  std::uint64_t udev_overflows = 0;
  std::uint64_t warnings = 0;  // lines of the log
  std::uint64_t errors = 0;
  Durations::Reading answers;
  Durations::Reading recoveries;
  Durations::Reading scans;
  std::shared_ptr<const NodeStatus> node;
};

// What became of a reload.
struct ReloadAnswer {
  std::vector<std::string> errors;  // not empty: nothing has changed
  std::vector<std::string> warnings;
  std::vector<std::string> added;  // entries, by name
  std::vector<std::string> changed;
  std::vector<std::string> removed;
  std::size_t unchanged = 0;
  bool kubelet_changed = false;  // every socket of ours has moved
};

}  // namespace plughost
