#pragma once
// A ResourceSlice of resource.k8s.io, v1 or v1beta2, which have the same shape: as it is written, and as the
// API server shows it. Pure functions, thread-safe. Source: k8s.io/api/resource/v1/types.go.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "dra/pool.hpp"

namespace plughost {

inline constexpr const char* kSliceGroup = "resource.k8s.io";
// Of these versions of it that in which slices are written, the newest; empty: there is none.
std::string version_of_slices(const std::vector<std::string>& served);

// What all slices of one publisher have in common.
struct SliceOwner {
  std::string driver;
  std::string node;
  std::string node_uid;  // of the Node object: with it the slices go
  bool operator==(const SliceOwner&) const = default;
};

// version: "v1". resource_version: of what is to be replaced; empty: of nothing.
Json slice_json(const Slice& slice, const SliceOwner& owner, std::string_view version,
                const std::string& resource_version = {});

// One that is there, whoever made it.
struct ShownSlice {
  Slice slice;
  SliceOwner owner;  // node_uid is empty if anybody but one Node owns it
  std::string uid;
  std::string resource_version;
  bool exact = false;  // it has nothing but what slice and owner say
};

// What is missing, or is something else than it should be, is read as if it were not there. When a taint was
// added is no part of it.
ShownSlice shown_slice(const Json& object);

// As kubectl writes it: "plughost.io/unhealthy=gone:NoSchedule".
std::string taint_text(const DeviceTaint& taint);

// What the API server has kept of what was sent: a field that is gone belongs to a feature that is off.
DraFeatures features_kept(const Slice& sent, const Slice& shown);

}  // namespace plughost
