#pragma once
// Device ids and resource names. Pure functions, thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

// FNV-1a, 64 bits: not cryptographic, but equal on every machine and in every version. Source: G. Fowler, L.
// C. Noll, K.-P. Vo, the FNV non-cryptographic hash algorithm.
inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;
// The start value for a second, independent hash of the same text.
inline constexpr std::uint64_t kOtherFnvStart = 0x84222325cbf29ce4u;

// Continues the hash of a previous text.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t value = kFnvStart) {
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

// Returns 16 hexadecimal digits in lower case.
std::string hex_digits(std::uint64_t value);

// A set of ids of a resource, comparable by a hash: a container can have 48,000 ids, whose comparison takes
// milliseconds.
struct IdSet {
  std::string name;       // two FNV-1a hashes in 32 hexadecimal digits, independent of the order of the ids
  std::size_t count = 0;  // each id counts once

  // Takes as long as sorting the ids.
  static IdSet of(std::string_view resource, std::span<const std::string> ids);
  bool operator==(const IdSet&) const = default;
};

// The device API's limit for an id in characters, including a replica's suffix.
inline constexpr std::size_t kLongestId = 63;

// Sorted, distinct ids in one block of memory: freeing 48,000 strings takes milliseconds.
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
  std::vector<std::string_view> ids_;  // views into texts_
};

// Appends the text to `texts`, whose capacity must suffice. Returns the copy.
std::string_view append_copy(std::string& texts, std::string_view text);

bool valid_utf8(std::string_view text);
// Returns printable(text) in double quotes.
std::string in_quotes(std::string_view text);

// Returns the same id for the same name in every run: the name itself if it is valid. Otherwise unprintable
// characters, '%' and ',' (the separator of id lists) are escaped as %XX, and names of more than `longest`
// characters are cut and end in a hash of the whole name.
std::string stable_id(std::string_view name, std::size_t longest = kLongestId);

// Returns why the kubelet (1.20 to 1.36: v1helper.IsExtendedResourceName and apimachinery's IsQualifiedName)
// would refuse the name, as a sentence; empty if it accepts the name.
std::string resource_name_error(std::string_view name);

// Returns true for a domain of RFC 1123, like k8s.io/apimachinery's IsDNS1123Subdomain, but without limits on
// the length of the domain and its labels.
bool is_domain(std::string_view text);

// Returns true for [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, of any length.
bool is_name_part(std::string_view text);

// Returns the nearest valid last part of a resource name ([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?, at most
// 63 characters) for a value from the machine: invalid characters become '_'. Empty if nothing valid remains.
std::string resource_name_part(std::string_view value);

// Returns the name as part of an environment variable: upper case, with '_' for everything but letters and
// digits.
std::string resource_variable(std::string_view name);

}  // namespace plughost
