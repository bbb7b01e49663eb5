#pragma once
// Ids that the kubelet and a pod's environment can carry, from names that a machine gives. Thread-safe.

#include <string>
#include <string_view>

namespace plughost {

// The device API's limit for an id, in characters, a replica's suffix included.
inline constexpr std::size_t kLongestId = 63;

bool valid_utf8(std::string_view text);
// In double quotes, as it is.
std::string in_quotes(std::string_view text);

// The same id for the same name, on every run: the name itself where it can be one; otherwise what is not
// printable, '%' and ',' (ids are joined by commas) are escaped as %XX; and what is longer than `longest`
// characters is cut and ends in a hash of the whole name.
std::string stable_id(std::string_view name, std::size_t longest = kLongestId);

}  // namespace plughost
