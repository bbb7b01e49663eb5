#include "model/allocate/cdi.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/text/ascii.hpp"
#include "base/text/json.hpp"
#include "model/allocate/allocation.hpp"

namespace plughost {
namespace {

constexpr const char* kEscape = "_x";
// Precedes an escaped first character: no other name begins so, because no id has a zero byte.
constexpr std::string_view kBeginning = "x_x00";

Json json_of(const CdiEdits& edits, const Device& device) {
  Json json = Json::Object();
  for (const auto& [name, value] : edits.env) json["env"].push_back(name + '=' + value);
  std::set<std::uint32_t> groups;
  for (const ContainerNode& node : edits.nodes) {
    const auto known = std::ranges::find(device.cdi_nodes, node.host_path, &CdiNode::path);
    const bool is_known = known != device.cdi_nodes.end();
    if (is_known && known->group != 0) groups.insert(known->group);
    // hostPath is the target of a link, because CDI's library refuses links: "not a device node".
    Json& its = json["deviceNodes"].push_back({{"path", node.container_path},
                                               {"hostPath", is_known ? known->node : node.host_path},
                                               {"permissions", node.permissions}});
    // The runtime creates the node for its own group unless a group is given.
    if (is_known && known->group != 0) its["gid"] = known->group;
  }
  for (const std::uint32_t group : groups) json["additionalGids"].push_back(group);
  for (const ContainerMount& mount : edits.mounts) {
    json["mounts"].push_back({{"hostPath", mount.host_path},
                              {"containerPath", mount.container_path},
                              {"options", Json::Array{mount.read_only ? "ro" : "rw", "rbind", "rprivate"}}});
  }
  return json;
}

// Returns the oldest version that supports the used features, so that old runtimes accept it: 0.5.0 for host
// paths and names that begin with a digit, 0.6.0 for a dot in the class, 0.7.0 for groups.
const char* version_for(std::string_view resource, bool groups) {
  if (groups) return "0.7.0";
  return resource.find('.', resource.find('/')) == std::string_view::npos ? "0.5.0" : "0.6.0";
}

std::string specification_of(std::string_view resource, Json::Array devices) {
  const bool groups = std::ranges::any_of(
      devices, [](const Json& device) { return !device["containerEdits"]["additionalGids"].is_null(); });
  const Json specification{
      {"cdiVersion", version_for(resource, groups)}, {"kind", resource}, {"devices", std::move(devices)}};
  return specification.dump_indented() + '\n';
}

}  // namespace

std::string cdi_device_name(std::string_view id) {
  std::string name;
  if (!id.empty() && !is_letter_or_digit(id.front())) name = kBeginning;
  for (std::size_t i = 0; i < id.size(); ++i) {
    const char c = id[i];
    const bool within = c == '_' || c == '-' || c == '.' || c == ':';
    const bool looks_escaped = id.substr(i).starts_with(kEscape);
    const bool stays = is_letter_or_digit(c) || (within && i + 1 < id.size() && !looks_escaped);
    name += stays ? std::string(1, c) : kEscape + upper_hex(c);
  }
  return name;
}

std::string cdi_qualified_name(std::string_view resource, std::string_view id) {
  return std::string(resource) + '=' + cdi_device_name(id);
}

std::string cdi_kind_error(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  const bool fits = slash != std::string_view::npos && is_letter(resource.front()) &&
                    slash + 1 < resource.size() && is_letter(resource[slash + 1]);
  if (fits) return {};
  return "\"" + std::string(resource) +
         "\" cannot be named by CDI, where the vendor before the '/' and the class after it begin with a "
         "letter; "
         "choose a different name, or leave `cdi` out";
}

void add_cdi_names(KindSpec& spec, CdiNames way, std::string_view plugin, std::string_view name,
                   const std::vector<std::string>& others) {
  if (way == CdiNames::kCri) {
    spec.cdi.emplace_back(name);
    for (const std::string& other : others) spec.cdi.emplace_back(other);
  }
  if (way == CdiNames::kAnnotations) {
    std::string joined(name);
    for (const std::string& other : others) joined += ',' + other;
    spec.annotations.emplace_back(Template("cdi.k8s.io/" + std::string(plugin) + "_{allocation}"),
                                  Template(joined));
  }
}

std::string cdi_specification(std::string_view resource, const AllocationSpec& spec,
                              const Inventory& inventory) {
  Json::Array devices;
  for (const Device& device : inventory.devices()) {
    if (device.gone) continue;
    const CdiEdits edits = cdi_edits(resource, spec, device);
    if (edits.empty()) continue;
    devices.push_back({{"name", cdi_device_name(device.id)}, {"containerEdits", json_of(edits, device)}});
  }
  return devices.empty() ? "" : specification_of(resource, std::move(devices));
}

std::string cdi_specification(std::string_view resource, const std::string& name, const CdiEdits& edits,
                              const Device& device) {
  return specification_of(resource, {Json{{"name", name}, {"containerEdits", json_of(edits, device)}}});
}

std::string cdi_file_name(std::string_view owner, std::string_view resource) {
  // A domain has no '_'.
  std::string name(resource);
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) name[slash] = '_';
  return std::string(owner) + '-' + name + ".json";
}

}  // namespace plughost
