#include "kinds/exec/document.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/document/diagnostics.hpp"
#include "base/document/fields.hpp"
#include "base/text/template.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "host/programs/program.hpp"

namespace plughost {
namespace {

using JsonValue = nlohmann::json;

constexpr std::size_t kDeepest = 16;       // far deeper than any valid document
constexpr unsigned kMostNumaNodes = 1024;  // at least the kernel's MAX_NUMNODES everywhere
constexpr std::string_view kNoReason = "its program reports it as Unhealthy";

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw DocumentError((place.empty() ? "the document" : place) + ": " + what);
}

std::string name_of(const JsonValue& value) {
  static constexpr Word<std::string_view> kNames[] = {
      {"null", "null"},   {"object", "an object"},      {"array", "a list"},
      {"string", "text"}, {"boolean", "true or false"}, {"number", "a number"}};
  return std::string(value_of(kNames, value.type_name()).value_or("something else"));
}

[[noreturn]] void refuse_type(const std::string& place, const std::string& wanted, const JsonValue& value) {
  refuse(place, "must be " + wanted + ", not " + name_of(value));
}

// Returns the parser's message without its own prefix.
std::string words_of(const JsonValue::parse_error& error) {
  const std::string what = error.what();
  const std::size_t name = what.find("] ");
  return first_line(name == std::string::npos ? what : what.substr(name + 2));
}

JsonValue parse(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) refuse("", "it is empty");
  std::vector<std::set<std::string>> objects;
  const auto look = [&](int depth, JsonValue::parse_event_t event, const JsonValue& parsed) {
    if (depth > static_cast<int>(kDeepest)) refuse("", "it is nested too deeply");
    if (event == JsonValue::parse_event_t::object_start) objects.emplace_back();
    if (event == JsonValue::parse_event_t::object_end) objects.pop_back();
    if (event == JsonValue::parse_event_t::key && !objects.back().insert(parsed.get<std::string>()).second)
      refuse("", "the key " + quote(parsed.get<std::string>()) + " is twice in one object");
    return true;
  };
  try {
    return JsonValue::parse(text, look);
  } catch (const JsonValue::parse_error& exception) {
    refuse("", "it is not JSON: " + words_of(exception));
  } catch (const JsonValue::out_of_range& exception) {
    refuse("", "it has a number that is too large");
  }
}

std::string text_of(const JsonValue& value, const std::string& place) {
  if (!value.is_string()) refuse_type(place, "text", value);
  auto text = value.get<std::string>();
  if (text.find('\0') != std::string::npos) refuse(place, "a text cannot have a NUL character");
  return text;
}

// An object with known keys only.
class Object {
 public:
  // `value` must outlive this object.
  Object(const JsonValue& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) refuse_type(place_, "an object", value);
  }

  // Returns nullptr if the key is absent or null.
  const JsonValue* find(std::string_view key) {
    asked_.push_back(key);
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }
  std::optional<std::string> text(std::string_view key) {
    const JsonValue* const value = find(key);
    return value ? std::optional(text_of(*value, at(key))) : std::nullopt;
  }
  std::string required(std::string_view key) {
    const auto found = text(key);
    if (!found) refuse(place_, "the key '" + std::string(key) + "' is missing");
    return *found;
  }
  bool flag(std::string_view key, bool fallback) {
    const JsonValue* const value = find(key);
    if (value && !value->is_boolean()) refuse_type(at(key), "true or false", *value);
    return value ? value->get<bool>() : fallback;
  }
  std::string at(std::string_view key) const {
    return place_.empty() ? std::string(key) : place_ + '.' + std::string(key);
  }
  // Reports keys that were never requested.
  void end() const {
    for (const auto& item : value_.items()) {
      if (std::ranges::find(asked_, item.key()) != asked_.end()) continue;
      const std::string meant = did_you_mean(item.key(), asked_);
      refuse(place_, "unknown key " + quote(item.key()) +
                         (meant.empty() ? "; valid: " + joined(asked_, ", ") : meant));
    }
  }

 private:
  const JsonValue& value_;
  std::string place_;
  std::vector<std::string_view> asked_;
};

// Reads the items of an optional list.
template <typename Read>
void for_each(Object& object, std::string_view key, Read read) {
  const JsonValue* const list = object.find(key);
  if (!list) return;
  if (!list->is_array()) refuse_type(object.at(key), "a list", *list);
  for (std::size_t i = 0; i < list->size(); ++i)
    read((*list)[i], object.at(key) + '[' + std::to_string(i) + ']');
}

// Reads the members of an optional object of strings.
template <typename Read>
void for_each_text(Object& object, std::string_view key, Read read) {
  const JsonValue* const map = object.find(key);
  if (!map) return;
  if (!map->is_object()) refuse_type(object.at(key), "an object", *map);
  for (const auto& item : map->items()) {
    const std::string place = object.at(key) + '.' + quote(item.key());
    if (item.key().empty() || item.key().find('\0') != std::string::npos)
      refuse(place, "this cannot be a name");
    read(item.key(), text_of(item.value(), place), place);
  }
}

std::string path_of(std::string path, const std::string& place) {
  if (const std::string error = path_error(path); !error.empty()) refuse(place, error);
  return path;
}

// Checks a template that knows {n} only.
std::string pattern_of(std::string text, const std::string& place) {
  try {
    const Template pattern(text);
    for (const std::string_view name : pattern.placeholders()) {
      if (name != "n")
        refuse(place, "the placeholder {" + std::string(name) + "} is not allowed here; {n} is");
    }
  } catch (const TemplateError& exception) {
    refuse(place, exception.what());
  }
  return text;
}

// The syntax of a container path in a document.
enum class Writing {
  kTemplate,  // {n} is the device's position
  kText,
};

// Returns the path in the container: the key's value, or the host's path.
std::string container_path(Object& object, const std::string& host_path, Writing writing) {
  const auto written = object.text("containerPath");
  const bool text = writing == Writing::kText;
  if (!written) return text ? host_path : Template::escape(host_path);
  const std::string place = object.at("containerPath");
  return text ? path_of(*written, place) : pattern_of(path_of(*written, place), place);
}

ContainerNode node_of(const JsonValue& value, const std::string& place, Writing writing) {
  if (value.is_string()) {
    const std::string path = path_of(text_of(value, place), place);
    return {.host_path = path, .container_path = writing == Writing::kText ? path : Template::escape(path)};
  }
  Object object(value, place);
  ContainerNode node;
  node.host_path = path_of(object.required("hostPath"), object.at("hostPath"));
  node.container_path = container_path(object, node.host_path, writing);
  node.permissions = object.text("permissions").value_or("rw");
  if (node.permissions.empty() || node.permissions.find_first_not_of("rwm") != std::string::npos)
    refuse(object.at("permissions"), "permissions are one or more of r, w and m, as in rw");
  object.end();
  return node;
}

ContainerMount mount_of(const JsonValue& value, const std::string& place, Writing writing) {
  Object object(value, place);
  ContainerMount mount;
  mount.host_path = path_of(object.required("hostPath"), object.at("hostPath"));
  mount.container_path = container_path(object, mount.host_path, writing);
  mount.read_only = object.flag("readOnly", false);
  object.end();
  return mount;
}

void check_variable(const std::string& name, const std::string& place) {
  if (name.find('=') != std::string::npos) refuse(place, "the name of a variable cannot have '='");
}

// Checks a CDI name: vendor.example/class=name.
std::string cdi_name(std::string name, const std::string& place) {
  const std::size_t slash = name.find('/');
  const std::size_t equals = name.find('=', slash == std::string::npos ? 0 : slash);
  const bool complete = slash != std::string::npos && equals != std::string::npos && slash > 0 &&
                        equals > slash + 1 && equals + 1 < name.size();
  if (!complete || name.find_first_of(" \t\r\n") != std::string::npos)
    refuse(place, quote(name) + " is no CDI name, which is vendor.example/class=name");
  return name;
}

// Ignores -1, which /sys has for a device without a NUMA node.
void add_numa_node(const JsonValue& value, const std::string& place, Device& device) {
  if (!value.is_number_integer()) refuse_type(place, "the number of a NUMA node", value);
  // nlohmann's comparison treats 2^64 - 1 as -1.
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() >= kMostNumaNodes;
  const std::int64_t number = too_large ? 0 : value.get<std::int64_t>();
  if (number == -1) return;
  if (too_large || number < 0) refuse(place, "the range of NUMA nodes is from 0 to 1023");
  device.numa_nodes.push_back(static_cast<int>(number));
}

Device device_of(const JsonValue& value, const std::string& list_place) {
  Device device;
  device.id = Object(value, list_place).required("id");
  const std::string place = list_place + " (" + quote(device.id) + ')';
  if (device.id.empty()) refuse(place, "the id is empty");
  Object object(value, place);
  object.find("id");
  const bool healthy = object.flag("healthy", true);
  const std::string reason = first_line(object.text("reason").value_or(""));
  if (!healthy) device.error = reason.empty() ? std::string(kNoReason) : reason;
  if (const JsonValue* const numa = object.find("numa"); numa && numa->is_array()) {
    for_each(object, "numa",
             [&](const JsonValue& item, const std::string& at) { add_numa_node(item, at, device); });
  } else if (numa) {
    add_numa_node(*numa, object.at("numa"), device);
  }
  for_each(object, "nodes", [&](const JsonValue& item, const std::string& at) {
    ContainerNode node = node_of(item, at, Writing::kTemplate);
    device.nodes.push_back({std::move(node.host_path), node.container_path, std::move(node.permissions)});
  });
  for_each(object, "mounts", [&](const JsonValue& item, const std::string& at) {
    ContainerMount mount = mount_of(item, at, Writing::kTemplate);
    device.mounts.push_back({std::move(mount.host_path), mount.container_path, mount.read_only});
  });
  for_each_text(object, "env", [&](const std::string& name, std::string text, const std::string& at) {
    check_variable(name, at);
    device.env.push_back({.name = pattern_of(name, at), .value = std::move(text)});
  });
  for_each_text(object, "attributes", [&](const std::string& name, std::string text, const std::string& at) {
    if (name == "id") refuse(at, "the id has a key of its own");
    device.attributes.push_back({.name = name, .value = std::move(text)});
  });
  object.end();
  return device;
}

}  // namespace

std::vector<Device> read_exec_document(std::string_view text) {
  const JsonValue document = parse(text);
  Object object(document, "");
  if (!object.find("devices")) refuse("", "the key 'devices' is missing");
  std::vector<Device> devices;
  for_each(object, "devices",
           [&](const JsonValue& item, const std::string& at) { devices.push_back(device_of(item, at)); });
  object.end();
  return devices;
}

std::string allocation_request(const ResourceSnapshot& snapshot, std::span<const std::string> ids) {
  JsonValue devices = JsonValue::array();
  std::vector<const Device*> seen;
  for (const std::string& id : ids) {
    const Device* const device = snapshot.inventory.find(id);
    if (device == nullptr) continue;
    const auto known = std::ranges::find(seen, device);
    if (known != seen.end()) {
      devices[static_cast<std::size_t>(known - seen.begin())]["ids"].push_back(id);
      continue;
    }
    seen.push_back(device);
    JsonValue& said = devices.emplace_back(JsonValue{{"id", device->id},
                                                     {"ids", {id}},
                                                     {"numa", device->numa_nodes},
                                                     {"nodes", JsonValue::array()},
                                                     {"attributes", JsonValue::object()}});
    for (const DeviceNode& node : device->nodes) said["nodes"].push_back(node.host_path);
    for (const Attribute& attribute : device->attributes)
      said["attributes"][attribute.name] = attribute.value;
  }
  const JsonValue request{{"resource", snapshot.resource}, {"devices", std::move(devices)}};
  return request.dump(-1, ' ', false, JsonValue::error_handler_t::replace) + '\n';
}

Allocation read_allocation_document(std::string_view text) {
  const JsonValue document = parse(text);
  Object object(document, "");
  Allocation allocation;
  for_each(object, "nodes", [&](const JsonValue& item, const std::string& at) {
    allocation.nodes.push_back(node_of(item, at, Writing::kText));
  });
  for_each(object, "mounts", [&](const JsonValue& item, const std::string& at) {
    allocation.mounts.push_back(mount_of(item, at, Writing::kText));
  });
  for_each_text(object, "env", [&](const std::string& name, std::string value, const std::string& at) {
    check_variable(name, at);
    allocation.env.emplace(name, std::move(value));
  });
  for_each_text(object, "annotations", [&](const std::string& key, std::string value, const std::string&) {
    allocation.annotations.emplace(key, std::move(value));
  });
  for_each(object, "cdi", [&](const JsonValue& item, const std::string& at) {
    allocation.cdi.push_back(cdi_name(text_of(item, at), at));
  });
  object.end();
  return allocation;
}

}  // namespace plughost
