#pragma once
// The names under which udev links a device: by what it is and by where it is plugged in. Worker threads:
// reads /dev.

#include <optional>
#include <string>

#include "host/sysfs.hpp"

namespace plughost {

// As /dev/serial/by-id/usb-FTDI_FT232R_A1-if00-port0. It survives another port, but two devices without a
// serial number of their own have the same one: nullopt for those, as where udev made none.
std::optional<std::string> link_by_id(const SysDevice& device);
// As /dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0-port0.
std::optional<std::string> link_by_path(const SysDevice& device);

}  // namespace plughost
