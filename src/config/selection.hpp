#pragma once
// Which entries of a configuration apply on this node. Values; select may block on the file system.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "host/hardware/host_root.hpp"
#include "host/hardware/node_labels.hpp"

namespace plughost {

// An entry that does not apply.
struct NotHere {
  std::string name;      // its text
  std::string where;     // "file:line:col"
  std::string why;       // one line
  bool unknown = false;  // nobody can tell, and it did not apply before

  std::string text() const { return "not here: " + name + " (" + where + "): " + why; }
  bool operator==(const NotHere&) const = default;
};

struct Selection {
  // What the kernel tells by no event is asked again after so long.
  static constexpr std::chrono::seconds kLookAgain{5};

  std::vector<bool> applies;    // by position in Config::resources
  std::vector<NotHere> others;  // in their order
  std::vector<std::string>
      errors;  // why a condition could not be asked: for these entries it stays as it was
  std::vector<WatchedDirectory> watch;  // a change here is a reason to ask again
  bool recheck = false;                 // and time is one

  bool operator==(const Selection&) const = default;
};

// applied: by position, what did before, for what cannot be told now; empty: nothing was told before.
// of_server: the labels, where asks_for_node; nothing: only the daemon asks the API server.
Selection select(const Config& config, const HostRoot& host, const std::vector<bool>& applied = {},
                 const std::optional<NodeLabels>& of_server = {});

// What applies as long as nobody has looked: what has no condition, and what applied before and says the
// same. running: the entries that apply now.
Selection not_asked_yet(const Config& config, const std::vector<ResourceConfig>& running);

bool has_conditions(const Config& config);
// Whether the conditions need what the API server says of the node: no file does.
bool asks_for_node(const Config& config);

// The configuration with those of its entries alone that apply.
Config applying(const Config& config, const Selection& selection);

// Those of one name, which are one resource, in the order in which they stand; never empty.
using EntriesOfName = std::vector<const ResourceConfig*>;

// In the order of the first of each. The pointers are into entries.
std::vector<EntriesOfName> by_name(const std::vector<ResourceConfig>& entries);
inline const std::string& name_of(const EntriesOfName& entries) { return entries.front()->spec->name.text(); }
std::vector<ResourceConfig> copies_of(const EntriesOfName& entries);

}  // namespace plughost
