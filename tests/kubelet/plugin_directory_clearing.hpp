#pragma once
// What a starting kubelet does to its directory. Thread-safe.

#include <filesystem>

#include "kubelet/standin_kubelet.hpp"

namespace plughost {

// Makes the directory (0750) and removes what is directly in it. What cannot be removed stays. Throws
// std::system_error if there is no directory then.
void make_clear_directory(const std::filesystem::path& directory, StandInKubelet::Clearing clearing);

}  // namespace plughost
