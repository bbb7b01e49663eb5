#include "model/device/device.hpp"

#include "base/text/text.hpp"
#include "model/device/names.hpp"

namespace plughost {

bool Device::healthy_share(unsigned n) const {
  return error.empty() && std::ranges::none_of(reasons, [&](const Reason& reason) {
           return reason.shares.empty() || std::ranges::binary_search(reason.shares, n);
         });
}

// A card may have 80,000 shares: they are counted one by one only if two reasons name shares.
unsigned Device::healthy_shares() const {
  if (!in_service()) return 0;
  if (reasons.empty()) return replicas;
  if (reasons.size() == 1) return replicas - static_cast<unsigned>(reasons[0].shares.size());
  unsigned count = 0;
  for (unsigned n = 0; n < replicas; ++n) count += healthy_share(n) ? 1 : 0;
  return count;
}

std::string Device::reason() const {
  std::string text;
  for (const Reason& reason : reasons) text += (text.empty() ? "" : "; and ") + reason.text;
  if (text.empty()) return error;
  return error.empty() ? text : text + "; and by itself: " + error;
}

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

std::optional<std::string> Device::value(std::string_view name) const {
  const std::string* const found = attribute(name);
  return found ? std::optional(*found) : std::nullopt;
}

const std::string* Device::attribute_at_place(std::string_view name) const {
  if (hardware->ids.by_place.empty()) return nullptr;
  if (name == "id") return &hardware->ids.by_place;
  const auto found = std::ranges::find(hardware->at_place, name, &Attribute::name);
  return found == hardware->at_place.end() ? attribute(name) : &found->value;
}

void Device::go_by_place() {
  id = hardware->ids.by_place;
  for (Attribute& attribute : attributes) attribute.value = *attribute_at_place(attribute.name);
}

std::string Device::path_error(std::string_view placeholder) const {
  const std::string* const value = attribute(placeholder);
  if (!value) return {};
  const std::string* const path = attribute("path");
  const bool is_path = placeholder == "link" || placeholder == "target" || placeholder.ends_with("path") ||
                       placeholder.ends_with("Path") || (path && path->ends_with('/' + *value));
  std::string why;
  if (printable(*value) != *value) why = "has a control character in it";
  if (!is_path && value->find('/') != std::string::npos) why = "has a '/' in it";
  const std::string components = '/' + *value + '/';
  if (components.find("/./") != std::string::npos || components.find("/../") != std::string::npos)
    why = "leads to a different directory";
  if (why.empty()) return {};
  return "its {" + std::string(placeholder) + "} is " + in_quotes(*value) + ", which " + why +
         " and cannot be in a path; use a different attribute there";
}

}  // namespace plughost
