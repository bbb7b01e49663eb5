#include "device/device.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

void Device::add(std::string name, std::string value) {
  if (!value.empty()) attributes.push_back({.name = std::move(name), .value = std::move(value)});
}

void Device::add_numa_node(std::optional<int> node) {
  if (!node) return;
  numa_nodes.push_back(*node);
  add("numa", std::to_string(*node));
}

void Device::add_node(const std::string& path, std::string permissions) {
  nodes.push_back(
      {.host_path = path, .container_path = Template::escape(path), .permissions = std::move(permissions)});
}

const std::string* Device::attribute(std::string_view name) const {
  if (name == "id") return &id;
  const auto found = std::ranges::find(attributes, name, &Attribute::name);
  return found == attributes.end() ? nullptr : &found->value;
}

}  // namespace plughost
