#pragma once
// A PCI function (a card has one or several), and what an entry can ask of it. Worker threads: reads /sys.

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
  std::string driver;      // empty: none is bound to it
  std::string path;        // from its host bridge on: "pci0000:00/0000:00:01.0/0000:03:00.0"
  // Of a virtual function the address of the physical one; else empty.
  std::string physical_function;
  // Which of the physical one's virtual functions it is, from 0 on, as text; empty: it is none.
  std::string virtual_number;
  // How many virtual functions it is divided into, as text; empty: it is not.
  std::string virtual_functions;
  // The own network interface of the function, or of a virtual function's physical one; several with commas.
  // Empty: there is none now, or it is no network card's function.
  std::string physical_name;

  bool is_network() const { return class_code.starts_with("02"); }
};

PciFunction pci_function(const SysDevice& device);

// The network interfaces of a device that are its own ports, sorted: those of a card in switchdev mode that
// stand for a virtual function or a subfunction are not.
std::vector<std::string> own_interfaces(const SysDevice& device);

// An empty list takes any function; one of a list's words must fit.
struct PciSelectors {
  std::vector<std::string> vendors;
  std::vector<std::string> devices;
  std::vector<std::string> classes;  // the beginning of a class_code
  std::vector<std::string> drivers;

  bool matches(const PciFunction& function) const;
};

// pci, vendor, device, class, driver, pciPath, physfn, vf, vfs and pfName; what is unknown is left out, so
// that no template makes an empty text of it.
std::vector<Attribute> attributes_of(const PciFunction& function);

// What a container is told of a function, in the words of the SR-IOV network device plugin: a member of the
// JSON object in that plugin's PCIDEVICE_…_INFO, without the object's braces:
// "0000:03:00.0":{"generic":{"deviceID":"0000:03:00.0"},"<section>":{…}}.
std::string pci_info(const std::string& address, const std::string& section,
                     const std::map<std::string, std::string>& facts);

// IOMMU groups, of which VFIO opens none while another driver has a function of it.

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
