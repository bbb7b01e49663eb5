#pragma once
// Ids of devices, and names of resources. Pure functions, thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

namespace plughost {

// FNV-1a, 64 bits: no secret, but the same on every machine and in every version. Source: G. Fowler, L. C.
// Noll, K.-P. Vo, the FNV non-cryptographic hash algorithm.
inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;
// For a second hash of the same text.
inline constexpr std::uint64_t kOtherFnvStart = 0x84222325cbf29ce4u;

// Goes on from a former text's value.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t value = kFnvStart) {
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

// Its 16 hexadecimal digits, in lower case.
std::string hex_digits(std::uint64_t value);

// The device API's limit for an id, in characters, a replica's suffix included.
inline constexpr std::size_t kLongestId = 63;

bool valid_utf8(std::string_view text);
// In double quotes, as it is.
std::string in_quotes(std::string_view text);

// The same id for the same name, on every run: the name itself where it can be one; otherwise what is not
// printable, '%' and ',' (ids are joined by commas) are escaped as %XX; and what is longer than `longest`
// characters is cut and ends in a hash of the whole name.
std::string stable_id(std::string_view name, std::size_t longest = kLongestId);

// Why the kubelet (1.20 to 1.36: v1helper.IsExtendedResourceName and the apimachinery's IsQualifiedName)
// would refuse the name, as a sentence; empty: it takes it.
std::string resource_name_trouble(std::string_view name);

// RFC 1123, as k8s.io/apimachinery's IsDNS1123Subdomain reads it, without its limit of 253 characters: labels
// have no limit of their own.
bool is_domain(std::string_view text);

// [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, of any length.
bool is_name_part(std::string_view text);

// The nearest valid last part ([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, at most 63 characters) for a value
// that a machine gave: '/' and what is not allowed become '_'. Empty if nothing of it can be kept.
std::string resource_name_part(std::string_view value);

// The name as a part of an environment variable's: in upper case, '_' for what is no letter or digit.
std::string resource_variable(std::string_view name);

}  // namespace plughost
