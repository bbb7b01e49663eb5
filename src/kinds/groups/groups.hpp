#pragma once
// The parts of which a group's devices consist: the matches of a path, or of a USB device. Internal to kinds.

#include <memory>
#include <string>
#include <vector>

#include "base/document/fields.hpp"
#include "base/text/template.hpp"
#include "host/hardware/host_root.hpp"
#include "kinds/kind.hpp"
#include "model/device/device.hpp"

namespace plughost {

// Returns the name with '_' for everything but letters, digits, '-' and '_'.
std::string plain_name(std::string name);

class GroupPart {
 public:
  virtual ~GroupPart() = default;
  // Returns the matches, each as a device that has only this part, in a stable order. Adds what must be
  // watched, remarks and its funnel to scan. Throws like DeviceSource::scan().
  virtual std::vector<Device> find(const HostRoot& host, Scan& scan) const = 0;

  std::string selector;   // its key in the entry: "groups[0].usb[0]"
  bool optional = false;  // a device may lack this part
  unsigned limit = 1;     // how many devices may share one match
};

std::unique_ptr<GroupPart> read_path_part(Fields& fields);
std::unique_ptr<GroupPart> read_usb_part(Fields& fields);

// Reads the keys that all parts have.
void read_terms(Fields& fields, GroupPart& part);
// Reads `mountPath`: the path in the container.
Template read_mount_path(Fields& fields);
// Returns the path in the container of a match with that name and path. A mount path that ends in '/' keeps
// the file's name.
std::string place(const Template& mount_path, const std::string& name, const std::string& path);

}  // namespace plughost
