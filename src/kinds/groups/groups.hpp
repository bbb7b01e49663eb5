#pragma once
// What the devices of a group are put together from: the matches of a path, or of a USB device. Internal to
// kinds.

#include <memory>
#include <string>
#include <vector>

#include "base/document/fields.hpp"
#include "base/text/template.hpp"
#include "host/hardware/host_root.hpp"
#include "kinds/kind.hpp"
#include "model/device/device.hpp"

namespace plughost {

// A name in which all but letters, digits, '-' and '_' is '_'.
std::string plain_name(std::string name);

class GroupPart {
 public:
  virtual ~GroupPart() = default;
  // The matches, in a stable order: devices, if nothing else belonged to them. Adds to scan what has to be
  // followed, and remarks. Throws as DeviceSource::scan does.
  virtual std::vector<Device> find(const HostRoot& host, Scan& scan) const = 0;

  bool optional = false;  // a device may be without it
  unsigned limit = 1;     // how many devices may share one match
};

std::unique_ptr<GroupPart> read_path_part(Fields& fields);
std::unique_ptr<GroupPart> read_usb_part(Fields& fields);

// Keys that every part has.
void read_terms(Fields& fields, GroupPart& part);
// `mountPath`: where matches go in the container.
Template read_mount_path(Fields& fields);
// The place in the container of what is called name and lies at path. A mount path that ends in '/' keeps the
// file's name.
std::string place(const Template& mount_path, const std::string& name, const std::string& path);

}  // namespace plughost
