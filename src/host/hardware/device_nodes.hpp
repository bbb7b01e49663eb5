#pragma once
// Checks whether a container could get a device now: whether the device's nodes can be passed into a
// container, and whether an Allocate would succeed. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/sysfs.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {

// Returns why a device node below /dev cannot be passed into a container, as a sentence; empty if all can be
// passed. Does not block: /dev is a file system in memory, and links are not followed out of it. Nodes
// elsewhere may be on a file system that hangs, and are not checked.
std::string missing_device_node(const HostRoot& host, const Allocation& allocation);

// Returns the target of the links at a path below /dev, or the path itself if the links lead out of /dev or
// nowhere. Does not block.
std::string node_behind(const HostRoot& host, const std::string& path);

// The directories whose changes, and the subsystems whose events, can change the result of a check.
struct ReasonsToCheck {
  std::vector<WatchedDirectory> directories;
  std::vector<std::string> subsystems;  // of udev's events
};

// Marks each device Unhealthy that no container could get now, with the sentence that would refuse its
// Allocate: a node is missing, is not a device node or has another number; its VFIO group cannot be opened;
// two nodes or mounts would have one path in the container; a template needs a value that the device lacks.
// An Unhealthy device keeps its error. Also stores in the devices what CDI specifications need: the nodes'
// link targets and owners. Worker threads; may block, because nodes may be anywhere.
ReasonsToCheck check_devices(const HostRoot& host, const std::string& resource, const AllocationSpec& spec,
                             const NodeNumbers& numbers, std::vector<Device>& devices);

// Returns the hardware of the node at the path (see Hardware::units): empty if there is no node; nullopt if
// any number of programs can use it at the same time, as with /dev/kvm. Worker threads.
std::optional<std::string> unit_of(const HostRoot& host, const std::string& node);

// Sets the units of devices whose kind does not set them: from the devices' own nodes, and from nodes of the
// spec that belong to one device. A path that several devices have is ignored. Worker threads.
void find_units(const HostRoot& host, const AllocationSpec& spec, std::vector<Device>& devices);

// The links that udev creates for a device, by identity and by place. Worker threads: reads /dev.

// Returns a link such as /dev/serial/by-id/usb-FTDI_FT232R_A1-if00-port0, which stays the same at another
// port. Returns nullopt if udev has created no such link, or if the device has no serial number.
std::optional<std::string> link_by_id(const SysDevice& device);
// Returns a link such as /dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0.
std::optional<std::string> link_by_path(const SysDevice& device);
// Returns a link that stays valid while the kubelet stores the response; nullopt if no link leads to the
// device's node. `has_twin` means that another device has the same link by identity.
std::optional<std::string> lasting_link(const HostRoot& host, const SysDevice& device, bool has_twin);

}  // namespace plughost
