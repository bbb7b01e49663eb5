#pragma once
// A slice that an API server is asked to make as a dry run: it drops the fields of features that it does not
// have, and so tells which these are. Pure functions, thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "dra/pool.hpp"

namespace plughost {

inline constexpr std::string_view kTaintsGate = "DRADeviceTaints";
inline constexpr std::string_view kSharingGate = "DRAConsumableCapacity";
inline constexpr std::string_view kPartitionsGate = "DRAPartitionableDevices";

// Has one of everything that a feature may be needed for, in a pool that there is not. partitions: with
// counters, for which 1.34 refuses it (422).
Slice slice_to_try(const std::string& driver, const std::string& node, bool partitions);

// What the API server has, by what it has made of such a slice. Of what was not tried there is nothing.
DraFeatures features_found(const Slice& tried, const Slice& shown);

// The feature gates of those that are missing.
std::vector<std::string> gates_missing(const DraFeatures& features);

}  // namespace plughost
