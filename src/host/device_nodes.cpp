#include "host/device_nodes.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace plughost {

std::string missing_device_node(const HostRoot& host, const Allocation& allocation) {
  for (const DeviceNode& node : allocation.nodes) {
    if (!node.host_path.starts_with("/dev/")) continue;
    struct stat status {};
    if (::stat(host.at(node.host_path).c_str(), &status) != 0)
      return "its device node " + node.host_path + " is gone: " + std::generic_category().message(errno);
    if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode))
      return node.host_path + " is no device node any more";
  }
  return {};
}

}  // namespace plughost
