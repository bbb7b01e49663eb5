#pragma once
// Converts another plugin's configuration. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"

namespace plughost {

struct Conversion {
  struct Found {
    std::string file;
    std::string what;  // "ConfigMap a/b, key c: the configuration of X, started by Y"; empty: the file itself
  };
  std::string from;          // name of the plugin: "smarter-device-manager"
  std::vector<Found> found;  // in the order of the documents
  std::string text;          // YAML, with a comment on each difference and each loss
  std::size_t entries = 0;   // entries kept
  std::size_t left_out = 0;  // entries that are only comments
  std::size_t notes = 0;     // number of comments
  // Comments that the user must know, each with its resource's name: `losses` name what the other plugin
  // gives to pods and the text does not; `doubts` name possible differences from the other plugin.
  std::vector<std::string> losses;
  std::vector<std::string> doubts;
  // For each resource where it comes from, and for each key, flag and variable what became of it.
  std::vector<std::string> explanations;
};

// Two resources whose devices should be near each other in one container.
struct NearPair {
  std::string one;
  std::string other;
};

// `documents` are configurations, or manifests that contain configurations, from one or more files; empty if
// there is only a command line. `arguments` is the plugin's command line, as words_of() accepts it; empty if
// the manifests have it. Returns nullopt after reporting an error.
std::optional<Conversion> convert(const std::vector<Node>& documents, std::string_view arguments,
                                  Diagnostics& diagnostics, const std::vector<NearPair>& near = {});

}  // namespace plughost
