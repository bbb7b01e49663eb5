#pragma once
// What a container is told of a PCI function, in the words of the SR-IOV network device plugin. Thread-safe.

#include <map>
#include <string>

namespace plughost {

// A member of the JSON object in that plugin's PCIDEVICE_…_INFO, without the object's braces:
// "0000:03:00.0":{"generic":{"deviceID":"0000:03:00.0"},"<section>":{…}}.
std::string pci_info(const std::string& address, const std::string& section,
                     const std::map<std::string, std::string>& facts);

}  // namespace plughost
