#pragma once
// Devices as the kernel's device model (/sys) and udev's database (/run/udev/data) show them. libudev could
// not be pointed at a made tree. A read blocks where a driver hangs: worker threads only. Sources:
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

// Does a udevd run, and so a rule for each device that comes?
bool udevd_runs(const HostRoot& host);

// All devices of a bus or class, sorted by name. Throws std::system_error if they cannot be listed; a
// subsystem that the kernel does not know has none.
std::vector<SysDevice> devices_of(const HostRoot& host, std::string_view subsystem);

// Hubs, the computer's own among them: other USB devices hang from them.
bool is_usb_hub(const SysDevice& device);

// Properties, links and tags are read once, when first asked for: a scan makes its SysDevices anew.
class SysDevice {
 public:
  // path: a device's directory, or a link to it, as in /sys/class/net/eth0. nullopt: there is none.
  // host outlives the device.
  static std::optional<SysDevice> at(const HostRoot& host, const std::string& path);
  // The device whose node, or a link to it, stands at path. nullopt: there is no node, or the kernel's device
  // model does not know it, as those that NVIDIA's driver makes.
  static std::optional<SysDevice> behind(const HostRoot& host, const std::string& path);

  const std::string& path() const { return path_; }  // "/sys/devices/…", without links
  std::string name() const;                          // "ttyUSB0"
  std::string subsystem() const;                     // "tty"; empty: it has none
  std::string driver() const;                        // "ftdi_sio"; empty: none is bound to it
  // The text of an attribute's file without its final newline; the name of what it links to, if it is a link.
  // nullopt: there is no such file, or its driver refuses to be read.
  std::optional<std::string> attribute(std::string_view name) const;
  // What is in its directory of that name, such as "net", sorted; nothing without such a directory.
  std::vector<std::string> names_in(std::string_view directory) const;
  // What the kernel and udev's rules say: DEVNAME, ID_SERIAL, … DEVPATH, SUBSYSTEM and DEVNAME (with "/dev/")
  // are as udevadm prints them.
  const std::map<std::string, std::string, std::less<>>& properties() const;
  std::string property(std::string_view name) const;  // empty: it has none

  // Has udev finished with it? Until then its node has neither its mode nor its links, and an interface not
  // its name. Where no udevd runs there is nothing to wait for; nor where there is neither node nor
  // interface. As sd_device_get_is_initialized of systemd's src/libsystemd/sd-device.
  bool finished() const;
  // Where udev says that it has.
  WatchedDirectory finishes_at() const;

  std::optional<std::string> node() const;  // "/dev/ttyUSB0"
  std::string node_number() const;  // "c188:0", "b7:0"; empty: it has no node, or the kernel tells none
  const std::vector<std::string>& links() const;  // "/dev/serial/by-id/…", sorted: what udev has made
  const std::vector<std::string>& tags() const;   // sorted
  // Of the device or of the nearest one above it that has one. Never negative.
  std::optional<int> numa_node() const;

  // The device that it has a link of that name to, such as "physfn".
  std::optional<SysDevice> linked(std::string_view name) const;
  // The nearest device above it, whatever its subsystem.
  std::optional<SysDevice> parent() const;
  // The nearest device above it of that subsystem, and of that DEVTYPE unless it is empty.
  std::optional<SysDevice> parent(std::string_view subsystem, std::string_view type = {}) const;
  // Devices of the subsystem below it, or of any if it is empty, sorted by path; not those that belong to a
  // device of its own kind below it, as behind a USB hub.
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

// Of one machine.
std::shared_ptr<SysfsMemory> make_sysfs_memory();

}  // namespace plughost
