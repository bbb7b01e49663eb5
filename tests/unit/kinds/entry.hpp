#pragma once
// Builds configuration entries in code and reads them by their kinds. Not thread-safe.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/document/fields.hpp"
#include "kinds/kind.hpp"

namespace plughost::test {

inline Node text(std::string scalar) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.scalar = std::move(scalar);
  return node;
}

inline Node list(std::vector<Node> items) {
  Node node;
  node.kind = Node::Kind::kSequence;
  node.items = std::move(items);
  return node;
}

inline Node map(std::vector<std::pair<std::string, Node>> members) {
  Node node;
  node.kind = Node::Kind::kMap;
  for (auto& [key, value] : members) node.members.push_back({text(key), std::move(value)});
  return node;
}

struct Entry {
  std::unique_ptr<const DeviceSource> source;
  std::vector<std::string> problems;  // each "path: what"
};

// Reads the entry `key: value` with the kind that has this key.
inline Entry read_entry(const std::string& key, Node value) {
  const Node node = map({{key, std::move(value)}});
  Diagnostics diagnostics;
  Entry entry;
  for (const Kind& kind : kinds()) {
    if (kind.key != key) continue;
    Fields fields(node, "resources[0]", diagnostics);
    entry.source = kind.read(fields);
  }
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    entry.problems.push_back(diagnostic.path + ": " + diagnostic.what);
  }
  return entry;
}

inline AllocationSpec taking(Choice choice) {
  AllocationSpec spec;
  spec.choice = std::move(choice);
  return spec;
}

inline std::vector<std::string> ids_of(const Scan& scan) {
  std::vector<std::string> ids;
  for (const Device& device : scan.devices) ids.push_back(device.id);
  return ids;
}

}  // namespace plughost::test
