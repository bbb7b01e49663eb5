#pragma once
// A machine as it was once. A value; thread-safe once it is made.

#include <string>

#include "host/nvml_view.hpp"
#include "host/recorded_tree.hpp"

namespace plughost {

struct RecordedMachine {
  RecordedTree tree;
  NvmlView nvml;
  std::string node;  // its name in Kubernetes; empty: unknown
};

}  // namespace plughost
