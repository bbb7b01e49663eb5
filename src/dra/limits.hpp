#pragma once
// What the API server takes of a ResourceSlice. Pure functions, thread-safe. Source: api/resource/v1/types.go
// and pkg/apis/resource/validation of Kubernetes 1.36; of what 1.34 allows less of, that.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dra/pool.hpp"

namespace plughost {

// A slice may have 128 devices if none has taints or counters: 64 is right for all.
inline constexpr std::size_t kMostDevicesOfSlice = 64;
inline constexpr std::size_t kMostAttributesAndCapacities = 32;  // of a device, together
inline constexpr std::size_t kLongestAttributeDomain = 63;
inline constexpr std::size_t kLongestAttributeId = 32;    // without the domain
inline constexpr std::size_t kLongestAttributeText = 64;  // bytes; of a version, too
inline constexpr std::size_t kMostTaints = 4;             // of a device; 16 since 1.35
inline constexpr std::size_t kMostPolicyValues = 10;
inline constexpr std::size_t kMostCounterSetsOfSlice = 8;
inline constexpr std::size_t kMostCountersOfSet = 32;
inline constexpr std::size_t kMostCounterSetsOfDevice = 2;

// Why it is refused, as a sentence; empty: it is taken. A name is "model" or "dra.net/numaNode", of an
// attribute or of a capacity.
std::string attribute_name_trouble(std::string_view name);
std::string attribute_value_trouble(const AttributeValue& value);

// Of one device, wherever it is: each limit that it breaks, as a sentence without the device's name.
std::vector<std::string> limits_broken(const PoolDevice& device);
// Of a pool with all of its devices: "device \"a\": …". However large it is, it is split into slices.
std::vector<std::string> limits_broken(const Pool& pool);

}  // namespace plughost
