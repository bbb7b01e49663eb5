#pragma once
// Functions with which tests read texts and files.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace plughost::test {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the file's content; empty if the file cannot be read.
inline std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace plughost::test
