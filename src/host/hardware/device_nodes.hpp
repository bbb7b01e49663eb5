#pragma once
// Checks whether a container could have a device now: its nodes, and what an Allocate of it would return.
// Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/sysfs.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {

// Returns why a device node below /dev cannot be passed into a container, as a sentence; empty: all can. Does
// not block: /dev is a file system in memory, and links are not followed out of it. Nodes elsewhere may be on
// a file system that hangs, and are not checked.
std::string missing_device_node(const HostRoot& host, const Allocation& allocation);

// Returns the target of the links at a path below /dev, or the path itself if they lead elsewhere or nowhere.
// Does not block.
std::string node_behind(const HostRoot& host, const std::string& path);

// Changes of these may change the result of a check.
struct ReasonsToCheck {
  std::vector<WatchedDirectory> directories;
  std::vector<std::string> subsystems;  // of udev's events
};

// Marks each device Unhealthy that no container could have now, with the sentence with which its Allocate
// would be refused: a node is missing, is not a device node or has another number; its VFIO group cannot be
// opened; two things would be in one place of the container; a template needs a value that the device lacks.
// A device that is Unhealthy keeps its error. Also stores in the devices what CDI specifications need: the
// nodes' link targets and owners. Worker threads; may block, because nodes may be anywhere.
ReasonsToCheck check_devices(const HostRoot& host, const std::string& resource, const AllocationSpec& spec,
                             const NodeNumbers& numbers, std::vector<Device>& devices);

// Returns the hardware of the node at the path (see Hardware::units). Empty: there is no node. nullopt: any
// number of programs can use it at the same time, as with /dev/kvm. Worker threads.
std::optional<std::string> unit_of(const HostRoot& host, const std::string& node);

// Sets the units of devices whose kind does not set them: from their own nodes, and from nodes of the spec
// that belong to one device. A path that several devices have belongs to none. Worker threads.
void find_units(const HostRoot& host, const AllocationSpec& spec, std::vector<Device>& devices);

// The links that udev creates for a device, by identity and by place. Worker threads: reads /dev.

// Returns a link such as /dev/serial/by-id/usb-FTDI_FT232R_A1-if00-port0, which stays the same at another
// port. Two devices without serial numbers share it: nullopt for those, and if udev has not created one.
std::optional<std::string> link_by_id(const SysDevice& device);
// Returns a link such as /dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0.
std::optional<std::string> link_by_path(const SysDevice& device);
// Returns the link that lasts, for an answer that the kubelet stores; nullopt: no link leads to the device's
// node. has_twin: another device has the same link by identity.
std::optional<std::string> lasting_link(const HostRoot& host, const SysDevice& device, bool has_twin);

}  // namespace plughost
