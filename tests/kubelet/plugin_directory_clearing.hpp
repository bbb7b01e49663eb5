#pragma once
// Clears the plugin directory as a starting kubelet does. Thread-safe.

#include <filesystem>

#include "kubelet/standin_kubelet.hpp"

namespace plughost {

// Creates the directory with mode 0750, or removes its entries. Skips entries that cannot be removed. Throws
// std::system_error if the directory does not exist afterwards.
void make_clear_directory(const std::filesystem::path& directory, StandInKubelet::Clearing clearing);

}  // namespace plughost
