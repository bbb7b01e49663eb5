#pragma once
// Resolves what a command line names: a configuration, the daemon's socket, a resource.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/json.hpp"
#include "config/config.hpp"

namespace plughost {

// Returns the environment variable's value, or `otherwise` if it is unset or empty.
std::string from_environment(const char* variable, const std::string& otherwise);

// Reads the file and its includes like load_config(); "-" is standard input, which has no node.yaml and no
// plugins.d beside it. Throws ConfigError.
Config given_config(const std::string& file);

// Returns the path of the daemon's control socket: `given`, or if that is empty PLUGHOST_CONTROL, or the
// `control` of the configuration that commands read by default, or the default path.
std::string control_socket(const std::string& given);

// Returns true if `word` is the resource's name, or its part after the '/'.
bool names_resource(std::string_view word, std::string_view resource);
// Returns the name of `known` that `word` is, whole or without its domain. Returns `word` itself if there is
// no such name. Throws std::runtime_error if several resources have it as the part after the '/'.
std::string full_name(const std::string& word, std::span<const std::string> known);
// Returns the resources' names of an answer of ControlClient::status().
std::vector<std::string> names_of(const Json& status);

}  // namespace plughost
