#pragma once
// The devices of generic-device-plugin, which MicroShift has, too. Internal to converters.

#include <string>
#include <vector>

#include "tools/convert/converters/converter.hpp"

namespace plughost {

// The entries of `devices`.
void add_devices(const std::vector<Node>& devices, const std::string& path, ConfigDraft& draft,
                 Diagnostics& diagnostics);
// One as the first versions had it on the command line: `serial,/dev/ttyUSB*,/dev/ttyACM*`.
void add_short_device(const std::string& text, ConfigDraft& draft, Diagnostics& diagnostics);
// What holds for all entries that these made.
void add_device_notes(ConfigDraft& draft);

// A group's `usb` as plughost has it; empty: it has none. Of an item that says nothing that theirs knows,
// and of one that theirs finds nothing for, notes and a comment tell.
YamlDraft usbs_of_group(LenientFields& group, Notes& notes);

}  // namespace plughost
