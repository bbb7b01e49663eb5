#pragma once
// Ids of devices, and names of resources. Pure functions, thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// Some ids of a resource, for comparison: a container can have 48,000, which take milliseconds to compare.
struct IdSet {
  std::string name;       // two FNV-1a, in 32 hexadecimal digits: the same for the same ids in any order
  std::size_t count = 0;  // each id once

  // Takes as long as sorting the ids.
  static IdSet of(std::string_view resource, std::span<const std::string> ids);
  bool operator==(const IdSet&) const = default;
};

// The device API's limit for an id, in characters, a replica's suffix included.
inline constexpr std::size_t kLongestId = 63;

// Ids, sorted, each once, in one piece of memory: to free 48,000 strings takes milliseconds.
class IdList {
 public:
  // Copies the texts.
  explicit IdList(std::vector<std::string_view> ids);
  IdList& operator=(IdList&&) = delete;

  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }
  bool contains(std::string_view id) const;

 private:
  std::string texts_;
  std::vector<std::string_view> ids_;  // of texts_
};

// Appends the text to `texts`, which must have the capacity for it. Returns the copy.
std::string_view append_copy(std::string& texts, std::string_view text);

bool valid_utf8(std::string_view text);
// printable(), in double quotes.
std::string in_quotes(std::string_view text);

// The same id for the same name, on every run: the name itself where it can be one; otherwise what is not
// printable, '%' and ',' (ids are joined by commas) are escaped as %XX; and what is longer than `longest`
// characters is cut and ends in a hash of the whole name.
std::string stable_id(std::string_view name, std::size_t longest = kLongestId);

// Why the kubelet (1.20 to 1.36: v1helper.IsExtendedResourceName and the apimachinery's IsQualifiedName)
// would refuse the name, as a sentence; empty: it takes it.
std::string resource_name_error(std::string_view name);

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
