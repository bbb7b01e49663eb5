#pragma once
// Stores CDI specifications that tests create, and the files of a machine that needs more of them, so that
// tests/cdi can pass them to the library that reads them in container runtimes. Thread-safe.

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

// Stores the directories sys, dev and run of a simulated machine.
inline void keep_machine(const std::filesystem::path& tree) {
  const std::filesystem::path directory = std::filesystem::path(kMadeSpecifications) / "machine";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::filesystem::copy(
      tree, directory,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
}

// Stores plughost's specifications from the directory, if the directory exists.
inline void keep_specifications(const std::filesystem::path& directory) {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(directory, none)) {
    if (!file.path().filename().native().starts_with("plughost.")) continue;
    std::ifstream text(file.path());
    keep_specification({std::istreambuf_iterator<char>(text), {}});
  }
}

}  // namespace plughost::test
