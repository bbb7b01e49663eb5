#pragma once
// Parses YAML into Nodes, and writes JSON values as YAML. Thread-safe.
//
// A configuration may be hostile or a gigabyte, and every error needs its line. libyaml parses, with limits
// before memory is spent (depth, aliases, size), and reads what kubectl reads. yaml-cpp was refused for
// reading: it has no such limits, and is much slower. yaml-cpp still writes.

#include <optional>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "base/text/json.hpp"

namespace plughost {

// Limits of expansion and nesting. The content of an anchor and each use of an alias count as copies: `b: &b
// [*a, *a]`, repeated, grows without end.
inline constexpr std::size_t kMostNodes = 200'000;
inline constexpr std::size_t kMostExpandedBytes = 64u << 20;
inline constexpr std::size_t kDeepest = 64;

// Parses the one document of a text from read_text_file(). `file` is the name for messages. Duplicate keys,
// merge keys, tags and keys that are not text are reported, and the other content is returned. Returns
// nullopt if nothing usable remains.
std::optional<Node> parse_yaml(const std::string& text, const std::string& file, Diagnostics& diagnostics);

// Parses all documents of another program's text, such as a manifest, and leaves out empty documents. Tags
// are ignored, and merge keys are applied. Returns nullopt after reporting an error.
std::optional<std::vector<Node>> parse_documents(const std::string& text, const std::string& file,
                                                 Diagnostics& diagnostics);

// Return the value as YAML: yaml_of() in block style, without a final newline, and yaml_in_one_line() in flow
// style. Texts are quoted wherever a YAML parser could misread them.
std::string yaml_of(const Json& json);
std::string yaml_in_one_line(const Json& json);

}  // namespace plughost
