#pragma once
// Scans the machine once and returns what a configuration would advertise. Blocks; any thread.

#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/selection.hpp"
#include "host/hardware/host_root.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

// One entry that applies, and how its devices came about.
struct SurveyedEntry {
  std::string name;   // the entry's name in the configuration
  std::string where;  // its place there
  std::vector<Funnel> funnels;
  std::set<std::string> resources;  // the resources that list its devices
  std::size_t listed = 0;
  std::vector<std::string> unhealthy;  // "ttyUSB0: no driver is bound to it"
  std::string error{};                 // why it could not be scanned; empty: it was
  bool undecided = false;              // its devices are unknown

  // Returns why the entry lists no devices; empty if it lists some, or if its devices are unknown.
  std::string why_no_devices() const;
};

struct Survey {
  std::vector<ResourceSnapshot> snapshots;  // by name
  std::vector<std::string> errors;          // entries that could not be scanned
  std::vector<std::string> undecided;       // names of the entries whose devices are unknown
  std::vector<std::string> remarks;
  std::vector<NotHere> others;         // entries that do not apply
  std::vector<std::string> unmatched;  // patterns without a match
  std::vector<SurveyedEntry> entries;  // in the order of the configuration, those of one name together
  std::vector<CdiFile> cdi;            // CDI specifications from other programs, which the daemon would write
};
Survey survey(const Config& config, const HostRoot& host);

// How the applying entries use CDI, whether they have devices now or not.
struct CdiUse {
  bool any = false;             // at least one entry gives devices by CDI names
  bool programs = false;        // an `allocate` program may name CDI devices
  std::set<std::string> own;    // the names of entries whose specification the daemon writes
  std::set<std::string> kinds;  // "vendor.com/class" of all other known names
};
// `found` is the survey of `config`.
CdiUse cdi_use(const Config& config, const Survey& found);

// Returns what a pod would find out, one sentence each: a container with two devices would be refused; two
// resources list the same hardware; a mount is less useful in a container than expected (a socket, a device
// node or a directory with nodes that the container may not open).
std::vector<std::string> remarks_on(const HostRoot& host, const std::vector<ResourceSnapshot>& snapshots);

}  // namespace plughost
