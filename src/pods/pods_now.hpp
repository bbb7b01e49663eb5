#pragma once
// The pods of this node as they are now, for a command. Blocks; any thread.

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "assume/pod.hpp"
#include "config/config.hpp"

namespace plughost {

// As the kubelet tells them at that socket, or else the API server; or why nobody does, as a sentence.
std::variant<std::vector<Pod>, std::string> pods_now(const std::filesystem::path& pods_api,
                                                     const std::optional<ApiServerConfig>& server);

}  // namespace plughost
