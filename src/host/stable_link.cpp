#include "host/stable_link.hpp"

namespace plughost {
namespace {

std::optional<std::string> link_in(const SysDevice& device, std::string_view directory) {
  for (const std::string& link : device.links()) {
    if (link.find(directory) != std::string::npos) return link;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> link_by_id(const SysDevice& device) {
  return device.property("ID_SERIAL_SHORT").empty() ? std::nullopt : link_in(device, "/by-id/");
}

std::optional<std::string> link_by_path(const SysDevice& device) {
  return link_in(device, "/by-path/");
}

}  // namespace plughost
