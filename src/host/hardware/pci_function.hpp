#pragma once
// PCI functions (a card has one or several), selectors for them, and VFIO groups. Worker threads: reads /sys.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/sysfs.hpp"
#include "model/device/device.hpp"

namespace plughost {

struct PciFunction {
  std::string address;     // "0000:03:00.0"
  std::string vendor;      // "15b3"
  std::string device;      // "1017"
  std::string class_code;  // "020700": class, subclass and programming interface
  std::string driver;      // empty: no driver is bound
  std::string path;        // from the host bridge: "pci0000:00/0000:00:01.0/0000:03:00.0"
  // The address of the physical function, if this is a virtual function; empty otherwise.
  std::string physical_function;
  // The index among the physical function's virtual functions, as text; empty if this function is physical.
  std::string virtual_number;
  // The number of this function's virtual functions, as text; empty: none.
  std::string virtual_functions;
  // The network interfaces of the function, or of a virtual function's physical function, separated by
  // commas. Empty: none at present, or this function is not a network card.
  std::string physical_name;

  bool is_network() const { return class_code.starts_with("02"); }
};

PciFunction pci_function(const SysDevice& device);

// Returns the network interfaces that are the device's own ports, sorted. Representors of virtual functions
// and subfunctions in switchdev mode are not among them.
std::vector<std::string> own_interfaces(const SysDevice& device);

// Selects functions. An empty list matches any function; of any other list, one word must match.
struct PciSelectors {
  std::vector<std::string> vendors;
  std::vector<std::string> devices;
  std::vector<std::string> classes;  // prefixes of a class_code
  std::vector<std::string> drivers;

  // Returns the rule that leaves the function out, such as "its vendor is not 10de"; empty if it matches.
  std::string rule_against(const PciFunction& function) const;
};

// Returns pci, vendor, device, class, driver, pciPath, physfn, vf, vfs and pfName. Leaves out unknown
// attributes, so that templates that need these attributes are refused.
std::vector<Attribute> attributes_of(const PciFunction& function);

// Returns a function's member of the JSON object in the variable PCIDEVICE_…_INFO, in the form of the SR-IOV
// network device plugin and without the object's braces:
// "0000:03:00.0":{"generic":{"deviceID":"0000:03:00.0"},"<section>":{…}}.
std::string pci_info(const std::string& address, const std::string& section,
                     const std::map<std::string, std::string>& facts);

// IOMMU groups. VFIO does not open a group while another driver is bound to one of its functions.

// Returns true for vfio-pci and its derivatives: mlx5_vfio_pci, nvgrace_gpu_vfio_pci …
bool is_vfio_driver(const std::string& driver);

// The groups of one scan.
class VfioGroups {
 public:
  // `host` must outlive this object.
  explicit VfioGroups(const HostRoot& host) : host_(host) {}

  // Returns the number of the group that the node opens: /dev/vfio/15, /dev/vfio/noiommu-15 or
  // /dev/vfio/devices/vfio0. Empty if the node is not a VFIO node.
  std::string group_of(const std::string& node) const;
  // Returns why VFIO does not open the group, as a sentence; empty if it does. The kernel accepts bridges,
  // and functions without a driver, with a VFIO driver or with pci-stub (vfio_dev_viable() in drivers/vfio).
  std::string error_of(const std::string& group);

 private:
  void read();

  const HostRoot& host_;
  std::optional<std::map<std::string, std::string>>
      foreign_;  // by group: its functions with foreign drivers, and these drivers
};

}  // namespace plughost
