#pragma once
// Devices from the kernel's device model (/sys) and udev's database (/run/udev/data). libudev cannot read a
// test's tree. Reads block while a driver hangs: worker threads only. Sources:
// Documentation/admin-guide/sysfs-rules.rst of the kernel; systemd's src/libsystemd/sd-device.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

class SysDevice;

// Returns true if udevd runs, so that rules are applied to each new device.
bool udevd_runs(const HostRoot& host);

// Returns all devices of a bus or class, sorted by name; none for an unknown subsystem. Throws
// std::system_error if the devices cannot be listed.
std::vector<SysDevice> devices_of(const HostRoot& host, std::string_view subsystem);

// Returns true for USB hubs, root hubs included.
bool is_usb_hub(const SysDevice& device);

// Properties, links and tags are read once, on first use: each scan creates new objects.
class SysDevice {
 public:
  // `path` is a device's directory or a link to it, such as /sys/class/net/eth0. Returns nullopt if there is
  // no device. `host` must outlive the device.
  static std::optional<SysDevice> at(const HostRoot& host, const std::string& path);
  // Returns the device of the node at path (or of a link to a node). Returns nullopt if there is no node, or
  // if the device model does not have the device, as with the nodes of NVIDIA's driver.
  static std::optional<SysDevice> behind(const HostRoot& host, const std::string& path);

  const std::string& path() const { return path_; }  // "/sys/devices/…", without links
  std::string name() const;                          // "ttyUSB0"
  std::string subsystem() const;                     // "tty"; empty: none
  std::string driver() const;                        // "ftdi_sio"; empty: no driver is bound
  // Returns the content of an attribute's file without its final newline, or the name of the target if the
  // attribute is a link. Returns nullopt if it is missing, or if the driver refuses the read.
  std::optional<std::string> attribute(std::string_view name) const;
  // Returns the entries of the directory of that name, such as "net", sorted; empty if it is missing.
  std::vector<std::string> names_in(std::string_view directory) const;
  // Properties from the kernel and udev's rules: DEVNAME, ID_SERIAL, … DEVPATH, SUBSYSTEM and DEVNAME (with
  // "/dev/") have udevadm's form.
  const std::map<std::string, std::string, std::less<>>& properties() const;
  std::string property(std::string_view name) const;  // empty: none

  // Returns true once udev has processed the device. Until then, the node lacks its mode and its links, and
  // an interface lacks its name. Also true without a udevd, and for a device without node and interface. Like
  // sd_device_get_is_initialized of systemd's src/libsystemd/sd-device.
  bool finished() const;
  // The place whose change shows that udev has processed the device.
  WatchedDirectory finishes_at() const;

  std::optional<std::string> node() const;        // "/dev/ttyUSB0"
  std::string node_number() const;                // "c188:0", "b7:0"; empty: no node, or no number
  const std::vector<std::string>& links() const;  // "/dev/serial/by-id/…", sorted: the links made by udev
  const std::vector<std::string>& tags() const;   // sorted
  // The NUMA node of the device or of the nearest ancestor that has one. Never negative.
  std::optional<int> numa_node() const;

  // Returns the device to which the link of that name, such as "physfn", leads.
  std::optional<SysDevice> linked(std::string_view name) const;
  // The nearest ancestor, of any subsystem.
  std::optional<SysDevice> parent() const;
  // The nearest ancestor of that subsystem, and of that DEVTYPE unless it is empty.
  std::optional<SysDevice> parent(std::string_view subsystem, std::string_view type = {}) const;
  // Returns the descendants of that subsystem, or of any subsystem if `subsystem` is empty, sorted by path.
  // Does not descend below devices with this device's subsystem and DEVTYPE, such as those at a USB hub.
  std::vector<SysDevice> below(std::string_view subsystem) const;

  bool operator==(const SysDevice& other) const { return path_ == other.path_; }

 private:
  friend struct SysfsMemory;
  friend std::vector<SysDevice> devices_of(const HostRoot& host, std::string_view subsystem);
  struct Facts;
  SysDevice(const HostRoot& host, std::string path) : host_(&host), path_(std::move(path)) {}
  const Facts& facts() const;

  const HostRoot* host_;
  std::string path_;
  mutable std::shared_ptr<const Facts> facts_;
};

// Creates a cache for one machine.
std::shared_ptr<SysfsMemory> make_sysfs_memory();

}  // namespace plughost
