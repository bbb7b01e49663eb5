#pragma once
// Mounts that a container can do less with than somebody expects. Blocks: looks at files.

#include <string>
#include <vector>

#include "allocate/offer.hpp"
#include "host/host_root.hpp"

namespace plughost {

// One sentence for each path that an offer's devices have mounted, and that is a socket, or a device node, or
// a directory with nodes in it, without the node being given, too.
std::vector<std::string> mount_remarks(const HostRoot& host, const std::vector<Offer>& offers);

}  // namespace plughost
