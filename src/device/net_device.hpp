#pragma once
// Devices whose network interfaces move into containers: while one is there the host does not have it, and
// what is known of the device is in its CDI specification, for a plughost that starts then. Pure functions of
// values, thread-safe.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/recipe.hpp"

namespace plughost {

// Why the kernel knows no interface of that name, as a sentence; empty: it may.
std::string interface_name_trouble(std::string_view name);

// Is an interface that the recipe names by the device's attributes not to be seen, although the device is?
bool lacks_interface(const Recipe& recipe, const Device& device);

// The annotation that such a device has in its specification: its key, and its value, which says what is
// known of the device.
inline constexpr std::string_view kDeviceAnnotation = "plughost.io/device";
std::string note_of_device(const Device& device);

// The devices that a specification of ours, a JSON text, has so. Nothing of what is not of that form.
struct NotedDevices {
  std::string resource;
  std::vector<Device> devices;
  bool operator==(const NotedDevices&) const = default;
};
NotedDevices noted_devices(std::string_view specification);

// Would the recipe have the device in the resource of that name?
bool belongs_to(const Recipe& recipe, const Device& device, std::string_view resource);

}  // namespace plughost
