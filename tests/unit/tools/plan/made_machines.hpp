#pragma once
// The nodes that tests/machines/make.py creates. Not thread-safe.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "places.hpp"
#include "tools/plan/facts.hpp"

namespace plughost::test {

// Returns the facts of each machine, by the name of its file without extension, such as "raspberry-pi".
inline std::map<std::string, Facts> made_machines() {
  std::map<std::string, Facts> machines;
  for (const auto& entry : std::filesystem::directory_iterator(kMadeMachines)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    machines.emplace(entry.path().stem(), read_facts(text));
  }
  return machines;
}

}  // namespace plughost::test
