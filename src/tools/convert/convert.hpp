#pragma once
// Another plugin's configuration in plughost's words. Thread-safe.

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
    std::string what;  // "ConfigMap a/b, key c: the configuration of X, started by Y"; empty: the file is it
  };
  std::string from;          // whose it was: "smarter-device-manager"
  std::vector<Found> found;  // in the order of the documents
  std::string text;          // YAML, with a comment at each thing that differs or cannot be kept
  std::size_t entries = 0;   // that are kept
  std::size_t left_out = 0;  // entries that are comments only
  std::size_t notes = 0;     // comments
  // Of the comments those that somebody has to know, each with its resource's name: what theirs gives to pods
  // and the text does not, and what may be otherwise than the text says.
  std::vector<std::string> losses;
  std::vector<std::string> doubts;
};

// Two resources of which a container that asks for both gets devices that are near each other.
struct NearPair {
  std::string one;
  std::string other;
};

// documents: a configuration of theirs, or manifests that have some in them, of one file or several; none:
// the command line is all there is. arguments: their command line, as words_of takes it; empty: what the
// manifests say. nullopt: reported, here or by whoever read documents, and nobody's if it is not known.
std::optional<Conversion> convert(const std::vector<Node>& documents, std::string_view arguments,
                                  Diagnostics& diagnostics, const std::vector<NearPair>& near = {});

}  // namespace plughost
