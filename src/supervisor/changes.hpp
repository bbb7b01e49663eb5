#pragma once
// What a reload changes. Values.

#include <cstddef>
#include <string>
#include <vector>

namespace plughost {

// The names of entries, as they stand in the configuration.
struct Changes {
  std::vector<std::string> added;
  std::vector<std::string> changed;
  std::vector<std::string> removed;
  std::size_t unchanged = 0;
  bool kubelet = false;  // every socket of ours has moved
};

}  // namespace plughost
