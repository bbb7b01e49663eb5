#pragma once
// A reload's request, plan and answer, and the status of the configuration. Values.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log/log_line.hpp"
#include "base/text/json.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"

namespace plughost {

// The changes of a reload: names of entries, as written in the configuration. Values.
struct Changes {
  std::vector<std::string> added;
  std::vector<std::string> changed;
  std::vector<std::string> removed;
  std::size_t unchanged = 0;
  bool kubelet = false;  // every socket has moved
};

// The steps of a reload, in their order. Entries are identified by their names.
struct Reconciliation {
  Changes changes;                     // the removed entries end for good
  std::vector<std::string> ended;      // replaced by entries of the same name, at another kubelet
  bool cdi = false;                    // the CDI directory changes
  std::vector<EntriesOfName> kept;     // unchanged, though perhaps elsewhere in the file
  std::vector<EntriesOfName> updated;  // new devices and terms, at the same kubelet
  std::vector<EntriesOfName> begun;
};

// Computes what a reload does to the running entries. A pure function; thread-safe. The result points into
// `wanted`.
Reconciliation reconcile(const Config& running, const Config& wanted);

struct ReloadOrder {
  std::optional<LogLevel> level;  // log level until the next reload; nullopt: the configuration's
  std::optional<std::chrono::seconds> confirm;  // duration of the trial; nullopt: no trial

  bool operator==(const ReloadOrder&) const = default;
};

struct ReloadAnswer {
  std::vector<std::string> errors;  // if not empty, nothing has changed
  std::vector<std::string> warnings;
  Changes changes;
  std::optional<WallTime> trial_until;  // end of the trial unless it is confirmed

  Json json() const;
};

using ReloadDone = std::function<void(const ReloadAnswer& answer)>;
using ConfirmDone = std::function<void(const std::string& error)>;  // empty: confirmed

struct ConfigStatus {
  std::vector<std::string> files;  // the main file first
  std::uint64_t hash = 0;          // hash of their contents
  WallTime loaded_at;
  std::vector<NotHere> others;          // entries that do not apply on this node
  std::optional<WallTime> refused_at;   // last refusal since loaded_at, if any
  std::vector<std::string> errors;      // errors of that refusal
  std::optional<WallTime> trial_until;  // end of the trial unless it is confirmed; nullopt: no trial
  std::optional<WallTime> given_up_at;  // when a trial was rolled back, if no reload has been applied since
  std::string given_up_why;
  // For metrics only.
  std::uint64_t reloads_applied = 0;
  std::uint64_t reloads_refused = 0;

  Json json() const;
};

}  // namespace plughost
