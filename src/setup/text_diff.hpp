#pragma once
// What differs between two texts of some lines, as `diff -u` and patch(1) have it. A pure function,
// thread-safe.

#include <optional>
#include <string>

namespace plughost {

// All of both texts, so that what stays is seen, too. nullopt: there is no such file. path: absolute.
std::string text_diff(const std::string& path, const std::optional<std::string>& before,
                      const std::optional<std::string>& after);

}  // namespace plughost
