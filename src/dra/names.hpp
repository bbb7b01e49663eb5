#pragma once
// How devices, pools and slices are called in the API server. Pure functions, thread-safe: the same on every
// machine and in every version, because claims name them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "dra/claim.hpp"

namespace plughost {

inline constexpr std::size_t kLongestLabel = 63;  // a device's name, and a driver's
inline constexpr std::size_t kLongestPoolName = 253;

// Small letters, digits and '-' within, 63 characters at most.
bool is_dns_label(std::string_view text);
// Such texts with dots between them; each may be longer, as Kubernetes has it: a pod's claim is called after
// both.
bool is_dns_subdomain(std::string_view text);

// A DNS label for an id: the id itself where it is one; else what of it a label can have, in lower case, and
// a hash of the whole id. No two ids have one label.
std::string device_label(std::string_view id);

// "node-a/example.com/camera": what is no part of a DNS subdomain is treated as in device_label().
std::string pool_name(std::string_view node, std::string_view resource);

// "00001-8c2f61ab4d0e9f37": of the index-th slice of a pool. A slice that is there already is known again by
// it, whoever made it.
std::string slice_name(std::size_t index, std::string_view driver, std::string_view node,
                       std::string_view pool);

// The place that such a name tells; nullopt: it tells none.
std::optional<std::size_t> slice_index(std::string_view name);

// Why a driver cannot be called so, as a sentence; empty: it can. A DNS subdomain of 63 characters at most.
std::string driver_name_trouble(std::string_view driver);

// Why no claim can be called so, as a sentence; empty: one can. Its parts are fit for paths and addresses
// then.
std::string claim_name_trouble(const ClaimRef& claim);

}  // namespace plughost
