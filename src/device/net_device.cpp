#include "device/net_device.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/json.hpp"
#include "device/id.hpp"

namespace plughost {
namespace {

// IFNAMSIZ, without the zero byte.
constexpr std::size_t kLongestInterface = 15;

// nullopt: it is none, or was written by another version.
std::optional<Device> device_in(const std::string& note) {
  const Json json = Json::parse(note);
  Device device;
  device.id = json["id"].text();
  if (device.id.empty() || !valid_utf8(device.id)) return std::nullopt;
  for (const Json& node : json["numa"].array()) {
    if (node.number() >= 0 && node.number() <= std::numeric_limits<int>::max())
      device.numa_nodes.push_back(static_cast<int>(node.number()));
  }
  for (const Json& node : json["nodes"].array())
    device.nodes.push_back({.host_path = node["hostPath"].text(),
                            .container_path = node["containerPath"].text(),
                            .permissions = node["permissions"].text()});
  for (const Json& attribute : json["attributes"].array())
    device.attributes.push_back({.name = attribute["name"].text(), .value = attribute["value"].text()});
  return device;
}

}  // namespace

std::string interface_name_trouble(std::string_view name) {
  if (name.empty()) return "a network interface is to move into the container, and the device has none";
  const bool clean = std::ranges::none_of(
      name, [](char c) { return c == '/' || c == ':' || static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
  if (clean && name.size() <= kLongestInterface && name != "." && name != "..") return {};
  return in_quotes(name) + " cannot be a network interface's name, which has at most " +
         std::to_string(kLongestInterface) + " bytes, without blanks, '/' and ':'";
}

bool lacks_interface(const Recipe& recipe, const Device& device) {
  return std::ranges::any_of(recipe.net_devices, [&](const NetDeviceRecipe& interface) {
    const auto names = interface.host_name.placeholders();
    return std::ranges::any_of(names, [&](std::string_view name) {
      const std::string* const value = device.attribute(name);
      return value && value->empty();
    });
  });
}

bool belongs_to(const Recipe& recipe, const Device& device, std::string_view resource) {
  const auto name = recipe.name.expand([&](std::string_view placeholder) {
    const std::string* const value = device.attribute(placeholder);
    return value ? std::optional(*value) : std::nullopt;
  });
  return name == resource;
}

std::string note_of_device(const Device& device) {
  Json note{{"id", device.id}};
  for (const int node : device.numa_nodes) note["numa"].push_back(node);
  for (const DeviceNode& node : device.nodes)
    note["nodes"].push_back({{"hostPath", node.host_path},
                             {"containerPath", node.container_path.pattern()},
                             {"permissions", node.permissions}});
  for (const Attribute& attribute : device.attributes)
    note["attributes"].push_back({{"name", attribute.name}, {"value", attribute.value}});
  return note.dump();
}

NotedDevices noted_devices(std::string_view specification) {
  NotedDevices noted;
  try {
    const Json json = Json::parse(specification);
    noted.resource = json["kind"].text();
    for (const Json& each : json["devices"].array()) {
      const std::string& note = each["annotations"][kDeviceAnnotation].text();
      if (note.empty()) continue;
      if (auto device = device_in(note)) noted.devices.push_back(*std::move(device));
    }
  } catch (const std::runtime_error&) {
    noted.devices.clear();  // cut short, or of somebody else
  }
  return noted;
}

}  // namespace plughost
