#pragma once
// Lenient reading of one map of another plugin's configuration: a value of the wrong type is an error, a key
// that is not known is a note. Keys are found whatever their case, as Go's JSON does. Not thread-safe.

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
  // Refers to node and diagnostics, which outlive it. path is the map's place in the document, for messages.
  LenientFields(const Node& node, std::string path, Diagnostics& diagnostics);

  // Absent, or nothing: nullptr, nullopt, no items.
  const Node* node(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  // Empty, and reported, if it is absent or empty.
  std::string require_text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  // Decimal digits; what is larger than 4294967295 is that.
  std::optional<unsigned> number(std::string_view key);
  // A list of scalars; a single scalar is a list of one.
  std::vector<std::string> texts(std::string_view key);
  const std::vector<Node>& items(std::string_view key);

  void error(const Node& at, std::string_view key, std::string what);
  std::string path_of(std::string_view key) const;
  // "`x`, `y`: not known to plughost, and left out", a loss, if there are keys that nobody has asked for.
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
