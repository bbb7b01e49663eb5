#pragma once
// IOMMU groups, of which VFIO opens none while another driver has a function of it. Worker threads: reads
// /sys.

#include <map>
#include <optional>
#include <string>

#include "host/hardware/host_root.hpp"

namespace plughost {

// vfio-pci, and the drivers that are made from it: mlx5_vfio_pci, nvgrace_gpu_vfio_pci …
bool is_vfio_driver(const std::string& driver);

// The groups of one look at the machine.
class VfioGroups {
 public:
  // The host outlives it.
  explicit VfioGroups(const HostRoot& host) : host_(host) {}

  // The number of the group that a node of VFIO opens: /dev/vfio/15, /dev/vfio/noiommu-15 or
  // /dev/vfio/devices/vfio0. Empty: it is no such node.
  std::string group_of(const std::string& node) const;
  // Why VFIO opens the group for nobody, as a sentence; empty: it can be opened. What the kernel lets pass
  // (vfio_dev_viable() in drivers/vfio): no driver, a driver of VFIO, pci-stub, and a bridge's own driver.
  std::string error_of(const std::string& group);

 private:
  void read();

  const HostRoot& host_;
  std::optional<std::map<std::string, std::string>> foreign_;  // by group: its functions, and their drivers
};

}  // namespace plughost
