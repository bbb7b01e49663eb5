#pragma once
// Selects the entries of a configuration that apply on this node. Values; select may block on files.

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
  std::string name;      // the entry's name, perhaps a template
  std::string where;     // "file:line:col"
  std::string why;       // one line
  bool unknown = false;  // the condition has no result, and the entry did not apply before

  std::string text() const { return "not here: " + name + " (" + where + "): " + why; }
  bool operator==(const NotHere&) const = default;
};

struct Selection {
  // The interval of evaluations if a condition depends on state without events.
  static constexpr std::chrono::seconds kLookAgain{5};

  std::vector<bool> applies;        // by position in Config::resources
  std::filesystem::path kubelet;    // the kubelet's directory, see kubelet_directory()
  std::vector<NotHere> others;      // in the order of the entries
  std::vector<std::string> errors;  // why a condition could not be evaluated; its entries stay as they were
  std::vector<WatchedDirectory> watch;  // changes here require a new evaluation
  bool recheck = false;                 // true: a new evaluation is needed every kLookAgain

  bool operator==(const Selection&) const = default;
};

// `former` is the selection before: it holds for conditions that cannot be evaluated, and while no kubelet
// listens. `of_server` has the labels if asks_for_node(); nullopt outside the daemon.
Selection select(const Config& config, const HostRoot& host, const Selection& former = {},
                 const std::optional<NodeLabels>& of_server = {});

// Returns `present` unless the kubelet listens in the other one of its directories alone. An empty `present`
// is the configured directory. Never waits.
std::filesystem::path kubelet_directory(const KubeletConfig& kubelet, const HostRoot& host,
                                        const std::filesystem::path& present = {});

// Returns the selection before the first evaluation: entries without a condition, and equal entries that
// applied before. `running` has the entries that apply now. The kubelet's directory is the configured one.
Selection not_asked_yet(const Config& config, const std::vector<ResourceConfig>& running);

// Returns true if the selection may change while the configuration stays as it is.
bool has_conditions(const Config& config);
// Returns true if the conditions need the API server's labels because no file has them.
bool asks_for_node(const Config& config);

// Returns the configuration with the applying entries only, and with the kubelet's directory.
Config applying(const Config& config, const Selection& selection);

// The entries of one name, which form one resource, in their order; never empty.
using EntriesOfName = std::vector<const ResourceConfig*>;

// Returns the groups in the order of their first entries. The pointers refer to `entries`.
std::vector<EntriesOfName> by_name(const std::vector<ResourceConfig>& entries);
inline const std::string& name_of(const EntriesOfName& entries) { return entries.front()->spec->name.text(); }
std::vector<ResourceConfig> copies_of(const EntriesOfName& entries);

}  // namespace plughost
