#pragma once
// A simulated machine with a stand-in kubelet and plughost's daemon. Not thread-safe.

#include "hotplug/namespaces.hpp"
#include "integration/node.hpp"
#include "unit/host/hardware/made_sysfs.hpp"

namespace plughost::test {

// Mounts sys and run of a MadeSysfs as this process's /sys and /run.
class MadeMachine {
 public:
  MadeMachine() {
    enter_made_machine();
    show(sysfs_.tree().path());
  }
  MadeMachine& operator=(MadeMachine&&) = delete;

  const MadeSysfs& sysfs() const { return sysfs_; }

  // Adds a device: first in /sys, then by an event of the kernel.
  void plug_in(const std::string& path, const std::string& subsystem, const MadeSysfs::Texts& attributes,
               const MadeSysfs::Texts& uevent = {}) const {
    sysfs_.device(path, subsystem, attributes, uevent);
    if (const auto name = uevent.find("DEVNAME"); name != uevent.end()) make_node("/dev/" + name->second);
    send_uevent("add", path.substr(4), subsystem, {uevent.begin(), uevent.end()});
  }
  void unplug(const std::string& path, const std::string& subsystem) const {
    sysfs_.remove(path);
    send_uevent("remove", path.substr(4), subsystem);
  }

 private:
  MadeSysfs sysfs_;
};

}  // namespace plughost::test
