#pragma once
// The labels of this node, as read from a file. Plain values; only read_node_labels() does I/O and may block.

#include <map>
#include <string>
#include <string_view>

#include "host/hardware/host_root.hpp"

namespace plughost {

struct NodeLabels {
  std::string node;  // the node's name; empty: the file does not have it
  std::map<std::string, std::string> labels;
  std::string error;     // why the labels are unknown; empty: they are known
  bool awaited = false;  // the labels have been requested and will be known
};

// Parses labels: JSON (a Node object, its metadata, or a map from keys to values), or lines key=value or
// key="value" as the downward API writes them. Empty lines and lines that begin with # are ignored.
NodeLabels node_labels_of(std::string_view text);
// Reads the file. An empty path means that no file is configured: NodeLabels::error says so.
NodeLabels read_node_labels(const HostRoot& host, const std::string& file);

}  // namespace plughost
