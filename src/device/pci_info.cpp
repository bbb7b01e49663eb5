#include "device/pci_info.hpp"

#include "base/json.hpp"

namespace plughost {

std::string pci_info(const std::string& address, const std::string& section,
                     const std::map<std::string, std::string>& facts) {
  Json info;
  info["generic"]["deviceID"] = address;
  if (!facts.empty()) info[section] = facts;
  return json_string(address) + ':' + info.dump();
}

}  // namespace plughost
