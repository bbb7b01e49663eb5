#pragma once
// A driver whose files are below a directory of their own, as a driver container's are. Internal to the kind
// `gpu`. Worker threads: reads the file system.

#include <string>

#include "host/host_root.hpp"

namespace plughost {

// Where dlopen finds the library below root, as a path of the process; empty: it is not there.
std::string library_below(const HostRoot& host, const std::string& root, const std::string& library);
// The device node, as "/dev/nvidiactl", below root, or on the machine itself where root has none.
std::string node_below(const HostRoot& host, const std::string& root, const std::string& node);

}  // namespace plughost
