#pragma once
// Is what an answer promises still in /dev, and what stands there? Thread-safe. But for follow_links()
// nothing blocks: /dev is a file system in memory, and links are followed no further.

#include <string>
#include <vector>

#include "device/allocation.hpp"
#include "host/host_root.hpp"

namespace plughost {

// Why a device node below /dev cannot be given to a container, as a sentence; empty: all can. What lies
// elsewhere may be on a file system that hangs, and is not looked at.
std::string missing_device_node(const HostRoot& host, const Allocation& allocation);

// Where the links of a path below /dev lead; the path itself if they lead elsewhere, or nowhere.
std::string node_behind(const HostRoot& host, const std::string& path);

// Has the resource's devices know where links lead that are among what a specification of CDI has of them.
// May block: they may be anywhere.
void follow_links(const HostRoot& host, const std::string& resource, const Recipe& recipe,
                  std::vector<Device>& devices);

}  // namespace plughost
