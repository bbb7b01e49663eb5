#pragma once
// What a driver offers to the scheduler: pools of devices, and the ResourceSlices that they are published in.
// Plain values. Source: k8s.io/api/resource/v1/types.go.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/shared_list.hpp"
#include "base/shared_map.hpp"

namespace plughost {

// Semantic versioning 2.0.
struct SemanticVersion {
  std::string text;
  auto operator<=>(const SemanticVersion&) const = default;
};

using AttributeValue = std::variant<bool, std::int64_t, std::string, SemanticVersion>;

// How much of a capacity one request takes. One of values and range at most.
struct RequestPolicy {
  struct Range {
    std::int64_t min = 0;
    std::optional<std::int64_t> max;
    std::optional<std::int64_t> step;
    bool operator==(const Range&) const = default;
  };
  std::int64_t default_amount = 0;   // of a request that does not say
  std::vector<std::int64_t> values;  // sorted
  std::optional<Range> range;
  bool operator==(const RequestPolicy&) const = default;
};

// Bytes, or a count.
struct DeviceCapacity {
  std::int64_t value = 0;
  std::optional<RequestPolicy> policy;  // only where several claims may share the device
  bool operator==(const DeviceCapacity&) const = default;
};

enum class TaintEffect { kNone, kNoSchedule, kNoExecute };

struct DeviceTaint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  auto operator<=>(const DeviceTaint&) const = default;
};

// Of a counter set of the same pool.
struct CounterUse {
  std::string set;
  std::map<std::string, std::int64_t> counters;
  bool operator==(const CounterUse&) const = default;
};

struct CounterSet {
  std::string name;
  std::map<std::string, std::int64_t> counters;
  bool operator==(const CounterSet&) const = default;
};

struct PoolDevice {
  std::string name;  // a DNS label, unique in its pool: device_label() of the device's id
  // By name, with its domain unless it is the driver's.
  SharedMap<AttributeValue> attributes;
  SharedMap<DeviceCapacity> capacity;  // likewise
  bool several_claims = false;         // allowMultipleAllocations
  std::vector<DeviceTaint> taints;
  std::vector<CounterUse> counters;
  bool operator==(const PoolDevice&) const = default;
};

// A pool is kept in several forms: as it is made, laid out and shown. What they have in common is in memory
// once.
using PoolDevices = SharedList<PoolDevice>;

// All that one resource offers. One is never seen in parts.
struct Pool {
  std::string name;     // "node-a/example.com/camera": pool_name()
  PoolDevices devices;  // in a stable order
  std::vector<CounterSet> counters;
  bool operator==(const Pool&) const = default;
};

// One object in the API server.
struct Slice {
  std::string name;
  std::string pool;
  std::int64_t generation = 1;  // of the pool
  std::int64_t slices = 1;      // of the pool's generation, this one among them
  PoolDevices devices;
  std::vector<CounterSet> counters;  // a slice has devices or these
  bool operator==(const Slice&) const = default;
};

// What the API server keeps. Where a feature is off it drops the fields of it without a word.
struct DraFeatures {
  bool taints = true;      // DRADeviceTaints
  bool sharing = true;     // DRAConsumableCapacity
  bool partitions = true;  // DRAPartitionableDevices
  bool operator==(const DraFeatures&) const = default;
};

}  // namespace plughost
