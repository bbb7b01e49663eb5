#pragma once
// What tests/cdi shows to the library that reads CDI specifications: those that tests make, and a machine for
// plughost to make more. Thread-safe.

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

// sys, dev and run of a made machine.
inline void keep_machine(const std::filesystem::path& tree) {
  const std::filesystem::path directory = std::filesystem::path(kMadeSpecifications) / "machine";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::filesystem::copy(
      tree, directory,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
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
