#pragma once
// What a reload does to the entries that run. A pure function of values, thread-safe.

#include <cstddef>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/selection.hpp"

namespace plughost {

// What a reload changes. Values.
// The names of entries, as they stand in the configuration.
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

// The pointers are into wanted.
Reconciliation reconcile(const Config& running, const Config& wanted);

}  // namespace plughost
