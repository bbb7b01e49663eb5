#pragma once
// A file's bytes, such as the kernel's own files in /proc and /sys, whose size nobody knows before. Blocks
// where the file system or a driver hangs; any thread.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace plughost {

inline constexpr std::size_t kMostFileText = 64u << 10;  // sysfs gives a page; binary files more

// At most so many bytes, rounded up to a whole read. nullopt: there is no such file, or it cannot be read.
std::optional<std::string> file_text(const std::filesystem::path& file, std::size_t most = kMostFileText);

}  // namespace plughost
