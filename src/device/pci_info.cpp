#include "device/pci_info.hpp"

#include <nlohmann/json.hpp>

namespace plughost {

std::string pci_info(const std::string& address, const std::string& section,
                     const std::map<std::string, std::string>& facts) {
  nlohmann::json info;
  info[address]["generic"]["deviceID"] = address;
  if (!facts.empty()) info[address][section] = facts;
  const std::string object = info.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return object.substr(1, object.size() - 2);
}

}  // namespace plughost
