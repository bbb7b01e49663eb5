#pragma once
// CDI specifications that tests make, for tests/cdi to show them to the library that reads them. Thread-safe.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "places.hpp"

namespace plughost::test {

inline void keep_specification(const std::string& text) {
  if (text.empty()) return;
  const std::filesystem::path directory = kMadeSpecifications;
  std::filesystem::create_directories(directory);
  std::ofstream(directory / (std::to_string(std::hash<std::string>()(text)) + ".json")) << text;
}

}  // namespace plughost::test
