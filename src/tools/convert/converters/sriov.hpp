#pragma once
// The two forms of sriov-network-device-plugin's resources: its file, and the policies from which an operator
// writes the file. Internal to converters.

#include <string>
#include <string_view>
#include <vector>

#include "tools/convert/converters/converter.hpp"

namespace plughost {

// Returns the entries of an item of `resourceList`, one per selector. `errors` has reasons why no entry can
// be kept, in addition to those found here.
std::vector<YamlDraft> sriov_entries(const Node& resource, const std::string& path, std::string_view prefix,
                                     Reading& diagnostics, const std::vector<std::string>& errors);

void add_sriov_policy(const Node& root, std::string_view prefix, ConfigDraft& draft, Reading& diagnostics);

}  // namespace plughost
