#include "model/device/assembly.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "model/device/names.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostRemarks = 20;
constexpr std::string_view kShared = ".shared";  // see renameByDefault

// Collects remarks about single devices, bounded: a directory of a hundred thousand bad names must not fill
// the log.
class Remarks {
 public:
  void add(std::string text) {
    if (texts_.size() < kMostRemarks) {
      texts_.push_back(std::move(text));
    } else {
      ++more_;
    }
  }

  void append_to(std::vector<std::string>& all) && {
    std::ranges::move(texts_, std::back_inserter(all));
    if (more_ > 0) all.push_back("and " + std::to_string(more_) + " more of this kind");
  }

 private:
  std::vector<std::string> texts_;
  std::size_t more_ = 0;
};

// Names a device in messages by the kind's id, in characters that are safe in a log.
std::string unsettled(const Device& device) {
  return "device " + in_quotes(device.id.empty() ? device.id : stable_id(device.id));
}

std::optional<std::string> value_of(std::string_view placeholder, const Device& device, std::size_t n) {
  return placeholder == "n" ? std::to_string(n) : device.value(placeholder);
}

// Returns the full name of the device's resource, or adds a remark and returns nullopt if none is valid.
std::optional<std::string> resource_of(const Template& name, const Device& device, std::size_t n,
                                       Remarks& remarks) {
  std::string missing;
  auto resource = name.expand(
      [&](std::string_view placeholder) -> std::optional<std::string> {
        const auto value = value_of(placeholder, device, n);
        std::string part = value ? resource_name_part(*value) : "";
        return part.empty() ? std::nullopt : std::optional(std::move(part));
      },
      &missing);
  if (!resource) {
    remarks.add(unsettled(device) + " is left out: it has no {" + missing +
                "} that could be in a resource's name");
  } else if (const std::string error = resource_name_error(*resource); !error.empty()) {
    remarks.add(unsettled(device) + " is left out: " + in_quotes(*resource) + " is not a valid name. " +
                error);
    resource.reset();
  }
  return resource;
}

unsigned replicas_of(const AllocationSpec& spec, const Device& device) {
  const auto rule =
      std::ranges::find_if(spec.replicas_of, [&](const ReplicaRule& each) { return each.matches(device); });
  return rule == spec.replicas_of.end() ? spec.replicas : rule->replicas;
}

std::vector<std::string> unmatched_rules(const AllocationSpec& spec, const std::vector<Device>& devices) {
  std::vector<std::string> unmatched;
  for (const ReplicaRule& rule : spec.replicas_of) {
    if (std::ranges::none_of(devices, [&](const Device& each) { return rule.matches(each); }))
      unmatched.push_back(rule.where);
  }
  return unmatched;
}

using Values = std::function<std::optional<std::string>(std::string_view placeholder)>;

// Returns the entry's id for the device, or adds a remark and returns nullopt if none is valid.
std::optional<std::string> listed_id(const Device& device, std::string own, const Template& id,
                                     const Values& values, Remarks& remarks) {
  if (!id.empty()) {
    std::string missing;
    auto expanded = id.expand(values, &missing);
    if (!expanded) {
      remarks.add(unsettled(device) + " is left out: it has no {" + missing + "}, which `id` asks for");
      return std::nullopt;
    }
    if (expanded->empty()) {
      remarks.add(unsettled(device) + " is left out: its id would be empty");
      return std::nullopt;
    }
    own = std::move(*expanded);
  }
  const std::size_t suffix = device.replicas > 1 ? 2 + std::to_string(device.replicas - 1).size() : 0;
  std::string listed = stable_id(own, kLongestId - suffix);
  if (listed != own) {
    remarks.add("a device is listed as " + in_quotes(listed) +
                ", because its own name is too long or has characters that an id cannot have");
  }
  return listed;
}

// Sets the id under which the device is listed: its id by name if it has two. Returns false and adds a remark
// if the device cannot have an id.
bool settle_id(Device& device, const Template& id, const std::string& resource, std::size_t n,
               Remarks& remarks) {
  const auto values = [&](std::string_view placeholder) {
    return placeholder == "resource" ? std::optional(resource) : value_of(placeholder, device, n);
  };
  const auto values_at_place = [&](std::string_view placeholder) {
    const std::string* const value = device.attribute_at_place(placeholder);
    return value ? std::optional(*value) : values(placeholder);
  };
  std::optional<std::string> by_name = listed_id(device, device.id, id, values, remarks);
  if (!by_name) return false;
  if (!device.hardware->ids.by_place.empty()) {
    Remarks not_told;
    auto by_place = listed_id(device, device.hardware->ids.by_place, id, values_at_place, not_told);
    Hardware::Ids& ids = device.hardware.edit().ids;
    ids = by_place && by_place != by_name ? Hardware::Ids{*by_name, *by_place} : Hardware::Ids();
  }
  device.id = std::move(*by_name);
  return true;
}

// Returns the name of the resource if it does not depend on the devices.
std::optional<std::string> only_resource(const AllocationSpec& spec) {
  if (!spec.name.literal()) return std::nullopt;
  return spec.name.expand([](std::string_view) { return std::nullopt; });
}

// Sets the shares and the id of the n-th device, and returns its resource. Adds a remark and returns nullopt
// if the device is not listed. For `only` see only_resource().
std::optional<std::string> settle(Device& device, const AllocationSpec& spec,
                                  const std::optional<std::string>& only, std::size_t n, Remarks& remarks) {
  std::optional<std::string> resource = only ? only : resource_of(spec.name, device, n, remarks);
  if (!resource) return resource;
  device.replicas *= replicas_of(spec, device);
  if (device.replicas > 1 && !device.hardware->units.empty()) device.hardware.edit().units.clear();
  if (spec.rename_shared && device.replicas > 1) *resource += kShared;
  return settle_id(device, spec.id, *resource, n, remarks) ? resource : std::nullopt;
}

bool is_container_path(const PositionText& text) { return text.valid() && valid_utf8(text.pattern()); }

void drop_bad_paths(Device& device) {
  const auto bad = [](const auto& thing) {
    return !valid_utf8(thing.host_path) || !is_container_path(thing.container_path);
  };
  const auto bad_variable = [](const Variable& variable) {
    return !valid_utf8(variable.value) || !is_container_path(variable.name);
  };
  const std::size_t dropped = std::erase_if(device.nodes, bad) + std::erase_if(device.mounts, bad) +
                              std::erase_if(device.env, bad_variable);
  if (dropped > 0 && device.healthy())
    device.error = "a path of it is not UTF-8 text, and the kubelet takes no other";
}

// Removes from the sorted list the devices that repeat an id.
void drop_repeated_ids(std::vector<Device>& devices, const std::string& resource, Remarks& remarks) {
  const auto remark = [&](const Device& device) {
    remarks.add("resource " + resource + ": a second device with the id " + in_quotes(device.id) +
                " is left out; set `id` to something that differs between the devices");
  };
  for (std::size_t i = 1; i < devices.size(); ++i) {
    if (devices[i].id == devices[i - 1].id) remark(devices[i]);
  }
  const auto same_id = [](const Device& a, const Device& b) { return a.id == b.id; };
  devices.erase(std::unique(devices.begin(), devices.end(), same_id), devices.end());

  if (std::ranges::none_of(devices, [](const Device& device) { return device.replicas > 1; })) return;
  // "gpu::1" may be a device's own id, and a replica of "gpu".
  const auto names_replica = [&](const Device& device) {
    if (device.replicas != 1) return false;
    const auto replica = parse_replica_id(device.id);
    if (!replica) return false;
    const Device* const other = device_of_id(devices, replica->id);
    return other && other->replicas > 1 && replica->n < other->replicas;
  };
  std::vector<std::string> repeated;
  for (const Device& device : devices) {
    if (!names_replica(device)) continue;
    remark(device);
    repeated.push_back(device.id);
  }
  if (repeated.empty()) return;
  std::erase_if(devices,
                [&](const Device& device) { return std::ranges::binary_search(repeated, device.id); });
}

// The order of precedence if not all devices fit into a message.
enum class Standing { kListed, kNew, kNewSick };

std::vector<Standing> standings(const std::vector<Device>& devices, std::span<const Device> listed) {
  std::vector<Standing> all;
  all.reserve(devices.size());
  for_each_pair(listed, devices, [&](const Device* old, const Device* device) {
    using enum Standing;
    if (device) all.push_back(old ? kListed : device->healthy() ? kNew : kNewSick);
  });
  return all;
}

void keep_what_fits(std::vector<Device>& devices, const Inventory& listed) {
  std::size_t bytes = 0;
  for (const Device& device : devices) bytes += wire_size(device);
  if (bytes <= kListLimit) return;
  const std::vector<Standing> standing = standings(devices, listed.devices());
  std::vector<bool> kept(devices.size());
  bytes = 0;
  for (const Standing each : {Standing::kListed, Standing::kNew, Standing::kNewSick}) {
    for (std::size_t i = 0; i < devices.size() && bytes <= kListLimit; ++i) {
      if (standing[i] != each) continue;
      bytes += wire_size(devices[i]);
      kept[i] = bytes <= kListLimit;
    }
  }
  std::size_t i = 0;
  std::erase_if(devices, [&](const Device&) { return !kept[i++]; });
}

// Removes the devices that repeat an id, and the devices that do not fit into one message.
void keep_what_can_be_listed(std::vector<Device>& devices, const std::string& resource,
                             const Inventory& former, std::vector<std::string>& of_resource,
                             Remarks& of_devices) {
  drop_repeated_ids(devices, resource, of_devices);
  const std::size_t all = devices.size();
  keep_what_fits(devices, former);
  if (devices.size() == all) return;
  of_resource.push_back("resource " + resource + ": only " + std::to_string(devices.size()) + " of " +
                        std::to_string(all) +
                        " devices fit into one message to the kubelet (4 MiB), and the others are left out; "
                        "use a coarser unit, or several resources");
}

// The hardware, nodes and files that previous entries have found.
class Taken {
 public:
  bool has(const Device& device) const {
    const std::vector<std::string>& units = device.hardware->units;
    return std::ranges::any_of(units, [this](const std::string& unit) { return overlaps(unit); }) ||
           paths_.contains(paths_of(device));
  }

  void add(const Device& device) {
    for (const std::string& unit : device.hardware->units) {
      if (!unit.starts_with(kIommuGroup)) units_.insert(unit);
    }
    if (auto paths = paths_of(device); !paths.empty()) paths_.insert(std::move(paths));
  }

 private:
  static std::vector<std::string> paths_of(const Device& device) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : device.nodes) paths.push_back(node.host_path);
    for (const Mount& mount : device.mounts) paths.push_back(mount.host_path);
    // A file that is not passed into a container is identified by its path as well.
    const std::string* const path = paths.empty() ? device.attribute("path") : nullptr;
    if (path) paths.push_back(*path);
    return paths;
  }

  // Returns true if a recorded unit is the same as, above or below this unit in the kernel's device tree.
  bool overlaps(const std::string& unit) const {
    for (std::size_t end = unit.size(); end != std::string::npos && end > 0; end = unit.rfind('/', end - 1)) {
      if (units_.contains(unit.substr(0, end))) return true;
    }
    const auto below = units_.lower_bound(unit + '/');
    return below != units_.end() && below->starts_with(unit + '/');
  }

  std::set<std::string> units_;
  std::set<std::vector<std::string>> paths_;
};

}  // namespace

std::string with_other_sharing(const std::string& resource) {
  if (!resource.ends_with(kShared)) return resource + std::string(kShared);
  return resource.substr(0, resource.size() - kShared.size());
}

Assembly assemble(const AllocationSpec& spec, std::vector<Device> scanned,
                  const std::map<std::string, Inventory>& listed, const WasGiven& was_given) {
  Assembly assembly;
  Remarks remarks;
  assembly.unmatched = unmatched_rules(spec, scanned);
  const std::optional<std::string> only = only_resource(spec);
  // With `renameByDefault`, the resource's name depends on its devices.
  if (only && !spec.rename_shared) assembly.resources[*only].reserve(scanned.size());

  std::size_t without_resource = 0;
  for (std::size_t n = 0; n < scanned.size(); ++n) {
    Device& device = scanned[n];
    const std::optional<std::string> resource = settle(device, spec, only, n, remarks);
    if (!resource) continue;
    if (assembly.resources.size() == kMostResources && !assembly.resources.contains(*resource)) {
      ++without_resource;
      continue;
    }
    drop_bad_paths(device);
    std::erase_if(device.numa_nodes, [](int node) { return node < 0; });
    assembly.resources[*resource].push_back(std::move(device));
  }
  if (without_resource > 0) {
    assembly.remarks.push_back(
        "the name " + spec.name.text() + " gives more than " + std::to_string(kMostResources) +
        " resources: " + std::to_string(without_resource) +
        " devices of further ones are left out; name the resources by something coarser");
  }

  for (auto& [resource, devices] : assembly.resources) {
    const auto found = listed.find(resource);
    const Inventory former = found == listed.end() ? Inventory() : found->second;
    resolve_duplicate_serials(resource, devices, former, was_given);
    for (const Device& device : devices) {
      if (const Hardware::Ids& ids = device.hardware->ids; !ids.by_place.empty() && device.id == ids.by_place)
        remarks.add(in_quotes(ids.by_place) + " is listed by its port: another device has the same " +
                    "serial number, that of " + in_quotes(ids.by_name));
    }
    sort_by_id(devices);
    keep_what_can_be_listed(devices, resource, former, assembly.remarks, remarks);
  }
  std::move(remarks).append_to(assembly.remarks);
  return assembly;
}

Assembly join(const std::vector<EntryFound>& parts, const std::map<std::string, Inventory>& listed) {
  Assembly assembly;
  Remarks remarks;
  std::map<std::string, Taken> taken;
  for (const EntryFound& part : parts) {
    if (!part.devices) continue;
    for (const auto& [resource, devices] : *part.devices) {
      std::vector<Device>& all = assembly.resources[resource];
      Taken& its = taken[resource];
      const auto before = static_cast<std::ptrdiff_t>(all.size());
      for (const Device& device : devices) {
        if (its.has(device)) continue;
        all.push_back(device);
        all.back().terms = part.terms;
      }
      std::for_each(all.begin() + before, all.end(), [&](const Device& device) { its.add(device); });
    }
  }
  for (auto& [resource, devices] : assembly.resources) {
    const auto found = listed.find(resource);
    sort_by_id(devices);
    keep_what_can_be_listed(devices, resource, found == listed.end() ? Inventory() : found->second,
                            assembly.remarks, remarks);
  }
  std::move(remarks).append_to(assembly.remarks);
  return assembly;
}

std::size_t listed_size(const AllocationSpec& spec, std::vector<Device> scanned) {
  const std::optional<std::string> only = only_resource(spec);
  Remarks remarks;
  std::map<std::string, std::size_t> sizes;
  std::size_t largest = 0;
  for (std::size_t n = 0; n < scanned.size(); ++n) {
    const std::optional<std::string> resource = settle(scanned[n], spec, only, n, remarks);
    if (resource) largest = std::max(largest, sizes[*resource] += wire_size(scanned[n]));
  }
  return largest;
}

}  // namespace plughost
