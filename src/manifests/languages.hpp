#pragma once
// Texts that are no YAML, and YAML that somebody else has to fill in first. Thread-safe.

#include <string>
#include <string_view>

namespace plughost {

// What the text is, and the command that makes of it what can be read: "this is Terraform; …". file: its
// name, whose ending tells, too. Empty: it is none of those that are known.
std::string other_language(std::string_view file, std::string_view text);

// Does the text have a word that only configurations and manifests of device plugins have? One that has, and
// cannot be read, may have been a configuration.
bool has_word_of_plugins(std::string_view text);

}  // namespace plughost
