#pragma once
// Reads a map of another plugin's configuration leniently: a value of the wrong type is an error, an unknown
// key is a note. Keys are case-insensitive, as in Go's JSON. Not thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/converters/yaml_draft.hpp"

namespace plughost {

class LenientFields {
 public:
  // `node` and `diagnostics` must outlive this object. `path` is the map's position in the document, for
  // messages.
  LenientFields(const Node& node, std::string path, Diagnostics& diagnostics);

  // Absent and null values return nullptr, nullopt or no items.
  const Node* node(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  // Reports an error and returns an empty text if the key is absent or empty.
  std::string require_text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  // Reads decimal digits; larger values become 4294967295.
  std::optional<unsigned> number(std::string_view key);
  // Reads a list of scalars; a single scalar is a list of one.
  std::vector<std::string> texts(std::string_view key);
  const std::vector<Node>& items(std::string_view key);

  void error(const Node& at, std::string_view key, std::string what);
  std::string path_of(std::string_view key) const;
  // Returns a loss "`x`, `y`: not known to plughost, and left out" if some keys were never read.
  Notes notes() const;
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  const Node* scalar(std::string_view key);
  void refuse(const Node& at, std::string_view key, const char* wanted);

  const Node& node_;
  std::string path_;
  Diagnostics& diagnostics_;
  std::vector<std::string> asked_;
};

}  // namespace plughost
