#pragma once
// A text that is named on the command line: a file, or "-", which is standard input. Blocks; any thread.

#include <string>
#include <variant>
#include <vector>

#include "config/text_file.hpp"
#include "document/node.hpp"

namespace plughost {

// For messages.
std::string name_of_given(const std::string& file);
// A pipe has no size and can be awaited, other than where the daemon reads.
std::variant<std::string, FileTrouble> text_of_given(const std::string& file);
// The objects in it, as kubectl prints them: YAML or JSON, those of lists one by one. kind, plural: "Pod",
// "pods". Throws std::runtime_error: it cannot be read, or something in it is of another kind, and why.
std::vector<Node> objects_of_given(const std::string& file, const std::string& kind,
                                   const std::string& plural);

}  // namespace plughost
