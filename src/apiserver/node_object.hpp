#pragma once
// What plughost reads of its Node. Plain values.

#include <map>
#include <string>

#include "base/json.hpp"

namespace plughost {

struct NodeObject {
  std::string name;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> capacity;  // of its status: "2" of "example.com/gpu"

  bool operator==(const NodeObject&) const = default;
};

// Of a v1 Node. What is not there, or is no text, is left out.
NodeObject node_object_of(const Json& node);

}  // namespace plughost
