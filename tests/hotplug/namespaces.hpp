#pragma once
// Namespaces of this process that simulate a machine. Not thread-safe: call before any thread is started.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost::test {

// Enters mount and network namespaces with an empty /sys and /run and a minimal /dev. Uevents that are sent
// there are received there. Needs no root if user namespaces are allowed. Only the first call has an effect.
// If the kernel refuses, the process ends with CTest's exit code for 'skipped'.
void enter_made_machine();

// Enters mount and network namespaces with the kernel's own /sys and /dev and without a visible udevd. Needs
// root; otherwise ends the process as above.
void enter_real_machine();

// Makes the kernel send a uevent in this namespace. `devpath` is below /sys. Throws std::system_error.
void send_uevent(std::string_view action, std::string_view devpath, std::string_view subsystem,
                 const std::vector<std::pair<std::string, std::string>>& more = {});

// Shows `sys` and `run` of the tree as /sys and /run. Throws std::system_error.
void show(const std::filesystem::path& tree);

// Creates a device node in the simulated /dev with the number of /dev/null.
void make_node(const std::string& path);

}  // namespace plughost::test
