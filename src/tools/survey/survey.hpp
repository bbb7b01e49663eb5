#pragma once
// One look at the machine: what a configuration would advertise now. Blocks; any thread.

#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/selection.hpp"
#include "host/hardware/host_root.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

struct Survey {
  std::vector<ResourceSnapshot> snapshots;  // by name
  std::vector<std::string> errors;          // entries that could not be looked at
  std::vector<std::string> undecided;       // the names of entries of which nothing can be told
  std::vector<std::string> remarks;
  std::vector<NotHere> others;         // entries that do not apply
  std::vector<std::string> unmatched;  // patterns of entries that match no device
  std::vector<CdiFile> cdi;            // the CDI specifications of others' that the daemon would write
};
Survey survey(const Config& config, const HostRoot& host);

// How the entries that apply use CDI, whether they have devices now or not.
struct CdiUse {
  bool any = false;             // at least one entry gives devices by CDI names
  bool programs = false;        // an `allocate` program may name CDI devices
  std::set<std::string> own;    // the names of entries whose specification the daemon writes
  std::set<std::string> kinds;  // "vendor.com/class" of the other names that are known
};
// `found` is the survey of `config`.
CdiUse cdi_use(const Config& config, const Survey& found);

// Finds mounts that a container can do less with than somebody expects: one sentence for each path that an
// snapshot's devices have mounted, and that is a socket, or a device node, or a directory with nodes in it,
// without the node being given, too.
std::vector<std::string> mount_remarks(const HostRoot& host, const std::vector<ResourceSnapshot>& snapshots);

}  // namespace plughost
