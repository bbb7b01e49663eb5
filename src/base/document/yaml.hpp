#pragma once
// YAML text as a Node, and JSON as YAML text. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "base/text/json.hpp"

namespace plughost {

// What a text may expand to, and how deep. What an anchor keeps and each use of an alias count as copies:
// `b: &b [*a, *a]`, repeated, grows without end.
inline constexpr std::size_t kMostNodes = 200'000;
inline constexpr std::size_t kMostExpandedBytes = 64u << 20;
inline constexpr std::size_t kDeepest = 64;

// The one document in a text that read_text_file gave; file is for messages. Duplicate keys, merge keys, tags
// and keys that are no text are reported, and what remains is returned. nullopt: what was reported leaves
// nothing to work with.
std::optional<Node> parse_yaml(const std::string& text, const std::string& file, Diagnostics& diagnostics);

// All documents of a text that others wrote, such as manifests, without the empty ones. Tags mean nothing,
// and merge keys are followed. nullopt: reported.
std::optional<std::vector<Node>> parse_documents(const std::string& text, const std::string& file,
                                                 Diagnostics& diagnostics);

// In block style, without a final newline; and in flow style. Texts are in quotes wherever a reader of YAML
// could take them for something else.
std::string yaml_of(const Json& json);
std::string yaml_in_one_line(const Json& json);

}  // namespace plughost
