#pragma once
// The knowledge of a daemon that its successor cannot find out by itself. A value; not thread-safe.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/text/json.hpp"
#include "model/allocate/ledger.hpp"

namespace plughost {

struct Inheritance {
  using Clock = std::chrono::steady_clock;
  template <typename Value>
  using ByDevice = std::map<std::string, std::map<std::string, Value>>;  // by resource, then by device id

  std::map<std::string, std::string> resources;  // the attached resources, with their entries' names
  ByDevice<Clock::time_point> flapping;          // see DeviceTracker::flapping()
  ByDevice<std::string> faults;                  // lasting errors, see Device::lasting
  std::vector<Ledger::Hold> holds;
  bool reload = false;  // a reload was requested that the predecessor has not carried out

  bool operator==(const Inheritance&) const = default;
  // Times are serialized as ages at `now`.
  Json json(Clock::time_point now) const;
  // Members that are missing, or of another type, have their defaults.
  static Inheritance of(const Json& json, Clock::time_point now);
};

}  // namespace plughost
