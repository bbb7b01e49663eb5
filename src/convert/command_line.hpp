#pragma once
// The words of a command line in the forms in which people have one. Thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "document/diagnostics.hpp"

namespace plughost {

// A list of words in JSON, as `kubectl -o jsonpath` prints one, or in YAML; or each flag at the beginning of
// a line, and its value behind it or in the lines below; or words as a shell splits them: blanks, quotes and
// backslashes, and nothing else. What cannot be split is reported at name.
std::vector<std::string> words_of(std::string_view text, const std::string& name, Diagnostics& diagnostics);

}  // namespace plughost
