#pragma once
// The devices of generic-device-plugin and of MicroShift. Internal to converters.

#include <string>
#include <vector>

#include "tools/convert/converters/converter.hpp"

namespace plughost {

// Converts the items of `devices`.
void add_devices(const std::vector<Node>& devices, const std::string& path, ConfigDraft& draft,
                 Reading& diagnostics);
// Converts an item of the first versions' command line: `serial,/dev/ttyUSB*,/dev/ttyACM*`.
void add_short_device(const std::string& text, ConfigDraft& draft, Reading& diagnostics);

// Converts a group's `usb`; empty if the group has none. An item without known keys becomes a note; an item
// for which the other plugin finds nothing becomes a comment.
YamlDraft usbs_of_group(LenientFields& group, Notes& notes);

}  // namespace plughost
