#pragma once
// A machine of a test's own, in namespaces of this process. Not thread-safe: to be called before any thread
// is there.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost::test {

// Mount and network namespaces in which /sys and /run are empty, and /dev has what a process needs. Uevents
// that are sent there are heard there. Needs no root where users may make namespaces. The first call does it;
// where the kernel does not let it, the process ends with the exit code that means 'skipped' to CTest.
void enter_made_machine();

// Mount and network namespaces with the kernel's own /sys and /dev, in which no udevd is to be seen. Needs
// root; else the process ends as above.
void enter_real_machine();

// Has the kernel send a uevent in this namespace, as it does for a device of its own. devpath: below /sys.
// Throws std::system_error.
void send_uevent(std::string_view action, std::string_view devpath, std::string_view subsystem,
                 const std::vector<std::pair<std::string, std::string>>& more = {});

// What the tree has at sys and run is the made machine's /sys and /run from now on. Throws std::system_error.
void show(const std::filesystem::path& tree);

// A device node in the made machine's /dev, which is /dev/null by another name.
void make_node(const std::string& path);

}  // namespace plughost::test
