#pragma once
// Whether a container could have a device now: its nodes, and what an Allocate of it would say. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/sysfs.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {

// Why a device node below /dev cannot be given to a container, as a sentence; empty: all can. Does not block:
// /dev is a file system in memory, and links are followed no further. What lies elsewhere may be on a file
// system that hangs, and is not looked at.
std::string missing_device_node(const HostRoot& host, const Allocation& allocation);

// Where the links of a path below /dev lead; the path itself if they lead elsewhere, or nowhere. Does not
// block.
std::string node_behind(const HostRoot& host, const std::string& path);

// After a change of these a check may have another verdict.
struct ReasonsToCheck {
  std::vector<WatchedDirectory> directories;
  std::vector<std::string> subsystems;  // of udev's events
};

// Marks each device Unhealthy that no container could have now, with the sentence that its Allocate would be
// refused with: a node is missing, is no device node or has another number; its VFIO group cannot be opened;
// two things would be in one place of the container; a template needs a value that the device does not have.
// A device that is Unhealthy keeps its reason. The devices also learn what a specification of CDI says of
// their nodes: where links lead, and whose they are. Worker threads; may block: nodes may be anywhere.
ReasonsToCheck check_devices(const HostRoot& host, const std::string& resource, const AllocationSpec& spec,
                             const NodeNumbers& numbers, std::vector<Device>& devices);

// Which hardware the node at the path is (see Hardware::units). Empty: there is none. nullopt: it is one that
// any number of programs open, each for itself, such as /dev/kvm. Worker threads.
std::optional<std::string> unit_of(const HostRoot& host, const std::string& node);

// Sets the units of those devices whose kind does not: by their own nodes, and by nodes of the spec that
// are one device's. A path that several of them have is none's own. Worker threads.
void find_units(const HostRoot& host, const AllocationSpec& spec, std::vector<Device>& devices);

// The names under which udev links a device: by what it is and by where it is plugged in. Worker threads:
// reads /dev.

// As /dev/serial/by-id/usb-FTDI_FT232R_A1-if00-port0. It survives another port, but two devices without a
// serial number of their own have the same one: nullopt for those, as where udev made none.
std::optional<std::string> link_by_id(const SysDevice& device);
// As /dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0.
std::optional<std::string> link_by_path(const SysDevice& device);
// The one of them that lasts, for an answer that the kubelet keeps; nullopt: there is none that leads to the
// device's node. has_twin: another device has the same name by id.
std::optional<std::string> lasting_link(const HostRoot& host, const SysDevice& device, bool has_twin);

}  // namespace plughost
