#pragma once
// What is asked of a reload, what came of it, and what is told of the configuration in force. Values.

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

// A reload's changes: the names of entries, as they stand in the configuration. Values.
struct Changes {
  std::vector<std::string> added;
  std::vector<std::string> changed;
  std::vector<std::string> removed;
  std::size_t unchanged = 0;
  bool kubelet = false;  // every socket of ours has moved
};

// In the order in which it is done. Entries go by their names' texts.
struct Reconciliation {
  Changes changes;                     // those that are removed end for good
  std::vector<std::string> ended;      // others of their names begin
  bool cdi = false;                    // specifications belong into another directory
  std::vector<EntriesOfName> kept;     // they may stand elsewhere in the file
  std::vector<EntriesOfName> updated;  // other devices and terms, and the streams stay
  std::vector<EntriesOfName> begun;
};

// Decides what a reload does to the entries that run. A pure function of values, thread-safe. The pointers
// are into wanted.
Reconciliation reconcile(const Config& running, const Config& wanted);

struct ReloadOrder {
  std::optional<LogLevel> level;  // of the log until the next reload; nullopt: the configuration's
  std::optional<std::chrono::seconds> confirm;  // what is read is on trial for so long; nullopt: it is not

  bool operator==(const ReloadOrder&) const = default;
};

struct ReloadAnswer {
  std::vector<std::string> errors;  // not empty: nothing has changed
  std::vector<std::string> warnings;
  Changes changes;
  std::optional<WallTime> trial_until;  // somebody has to keep it by then

  Json json() const;
};

using ReloadDone = std::function<void(const ReloadAnswer& answer)>;
using ConfirmDone = std::function<void(const std::string& error)>;  // empty: it is kept

struct ConfigStatus {
  std::vector<std::string> files;  // the main one first
  std::uint64_t hash = 0;          // of what they say
  WallTime loaded_at;
  std::vector<NotHere> others;          // entries that do not apply on this node
  std::optional<WallTime> refused_at;   // when a reload failed last; nullopt: not since loaded_at
  std::vector<std::string> errors;      // why
  std::optional<WallTime> trial_until;  // it is on trial: somebody has to keep it by then
  std::optional<WallTime> given_up_at;  // when one that was on trial was given up; nullopt: not since then
  std::string given_up_why;
  // For metrics only.
  std::uint64_t reloads_applied = 0;
  std::uint64_t reloads_refused = 0;

  Json json() const;
};

}  // namespace plughost
