#pragma once
// Limits of the kernel that paths run into.

#include <cstddef>

namespace plughost {

// As many symbolic links as the kernel follows in a path (MAXSYMLINKS).
inline constexpr int kMostLinks = 40;
// A socket's: sun_path holds 108 bytes with the final zero (unix(7)). A longer path fails in bind, when it is
// too late.
inline constexpr std::size_t kLongestSocketPath = 107;

}  // namespace plughost
