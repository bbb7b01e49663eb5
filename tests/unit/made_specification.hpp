#pragma once
// CDI specifications that tests make, for tests/cdi to show them to the library that reads them. Thread-safe.

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "places.hpp"

namespace plughost::test {

inline void keep_specification(const std::string& text) {
  if (text.empty()) return;
  const std::filesystem::path directory = kMadeSpecifications;
  std::filesystem::create_directories(directory);
  std::ofstream(directory / (std::to_string(std::hash<std::string>()(text)) + ".json")) << text;
}

// Those that stand in the directory, of plughost's own; none where there is no directory.
inline void keep_specifications(const std::filesystem::path& directory) {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(directory, none)) {
    if (!file.path().filename().native().starts_with("plughost.")) continue;
    std::ifstream text(file.path());
    keep_specification({std::istreambuf_iterator<char>(text), {}});
  }
}

}  // namespace plughost::test
