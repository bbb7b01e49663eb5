#pragma once
// The JSON schema of the configuration, for editors, and the description of a key, for `plughost explain`.
// Both are recorded from the readers themselves (see Shapes), and described by the tables of
// docs/configuration.md. Pure functions; thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "base/text/json.hpp"

namespace plughost {

Json config_schema();

// Returns what the key is, for people: its type, its description and the keys in it. `path` is as in
// "resources.gpu.unit". nullopt: there is no such key.
std::optional<std::string> explain_key(const std::string& path);

// Returns the plain paths of the maps that the page's tables give a key of this name, such as
// "resources[].gpu", or "" for the top level. A key that several programs have is found in `health` only.
std::vector<std::string> places_of(const std::string& key);
// Returns the plain path as explain_key() takes it: "resources.groups" for "resources[].groups[]".
std::string without_brackets(std::string plain_path);

}  // namespace plughost
