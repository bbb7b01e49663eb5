#pragma once
// The two forms of sriov-network-device-plugin's resources: its file, and the policies of which an operator
// writes that. Internal to converters.

#include <string>
#include <string_view>
#include <vector>

#include "tools/convert/converters/converter.hpp"

namespace plughost {

// The entries of an item of `resourceList`, one for each of its selectors. errors: why none can be kept,
// beside what is found here.
std::vector<YamlDraft> sriov_entries(const Node& resource, const std::string& path, std::string_view prefix,
                                     Diagnostics& diagnostics, const std::vector<std::string>& errors);

void add_sriov_policy(const Node& root, std::string_view prefix, ConfigDraft& draft,
                      Diagnostics& diagnostics);

}  // namespace plughost
