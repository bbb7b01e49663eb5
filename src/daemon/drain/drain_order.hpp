#pragma once
// What is asked of the daemon about a device that is to be out of service or back in it, and what it answers.
// Plain values and pure functions, thread-safe.

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/text/json.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/drain_set.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

struct DrainOrder {
  static constexpr std::chrono::seconds kShortest{1};
  static constexpr std::chrono::seconds kLongest = std::chrono::days(1000);

  struct Terms {
    std::string reason;
    std::optional<std::chrono::seconds> duration;  // nullopt: until somebody says so

    bool operator==(const Terms&) const = default;
  };

  std::string resource;
  std::string device;          // an id that the kubelet is told: a replica's means its device
  std::optional<Terms> terms;  // nullopt: back in service

  bool operator==(const DrainOrder&) const = default;
};

// Why it cannot be carried out whatever there is, as a sentence; empty: it can.
std::string error_of(const DrainOrder& order);

using ResourceSnapshots = std::span<const SharedSnapshot>;  // of every resource
// Why it cannot be carried out for the device of that name, as a sentence; empty: it can.
std::string why_not(const DrainOrder& order, const DrainSet::Name& name, const DrainSet& drains,
                    ResourceSnapshots snapshots);

struct DrainAnswer {
  std::string error;  // not empty: nothing has changed
  DrainSet::Name name;
  std::optional<Drain> drain;  // nullopt: it is back in service
  std::string unsaved;         // why a restart would not know of it yet; empty: it would
  Device device;               // as it is listed; without an id if it is not
  std::shared_ptr<const Holdings> holdings;
  std::string holders_unknown;

  Json json() const;
};

// The device that is meant: by its own id, or by that of a replica. nullptr: there is none.
const Device* device_named(const Inventory& inventory, std::string_view id);
const Device* device_named(ResourceSnapshots snapshots, std::string_view resource, std::string_view id);

// "there is no resource x.com/c; there are x.com/a and x.com/b": however many there are, it is short.
std::string no_such(const std::string& what, const std::string& name, std::span<const std::string> known);

}  // namespace plughost
