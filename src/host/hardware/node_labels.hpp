#pragma once
// The labels of this node, as somebody has written them into a file. Values; read_node_labels may block on
// the file system.

#include <map>
#include <string>
#include <string_view>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct NodeLabels {
  std::string node;  // its name; empty: the file does not say it
  std::map<std::string, std::string> labels;
  std::string error;     // why they are not known; empty: they are
  bool awaited = false;  // they will be: whoever knows them has been asked
};

// Either JSON: a node as the API server has it, its metadata, or a map from keys to values. Or a line for
// each label, key=value or key="value", as the downward API writes them; empty lines and those with a # in
// front do not count.
NodeLabels node_labels_of(std::string_view text);
// Of the file; an empty path: nobody writes them.
NodeLabels read_node_labels(const HostRoot& host, const std::string& file);

}  // namespace plughost
