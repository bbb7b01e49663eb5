#include "tools/survey/survey.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include "host/hardware/device_nodes.hpp"
#include "model/allocate/allocation.hpp"
#include "model/device/assembly.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

void add_devices(const DevicesOf& resources, SurveyedEntry& entry) {
  for (const auto& [resource, devices] : resources) {
    entry.resources.insert(resource);
    entry.listed += devices.size();
    for (const Device& device : devices)
      if (!device.healthy()) entry.unhealthy.push_back(device.id + ": " + device.error);
  }
}

// Returns nullopt if nothing is known of the entry's devices; the reason is in `all`.
std::optional<DevicesOf> scan_entry(const ResourceConfig& entry, const HostRoot& host, Survey& all) {
  SurveyedEntry& surveyed =
      all.entries.emplace_back(SurveyedEntry{.name = entry.spec->name.text(), .where = entry.where});
  try {
    Scan scan = entry.source->scan_chosen(host, *entry.spec);
    surveyed.funnels = std::move(scan.funnels);
    std::ranges::transform(scan.unfinished, std::back_inserter(scan.remarks), unfinished_text);
    std::ranges::move(scan.remarks, std::back_inserter(all.remarks));
    std::ranges::move(scan.cdi, std::back_inserter(all.cdi));
    if (scan.undecided) {
      surveyed.undecided = true;
      all.undecided.push_back(entry.spec->name.text());
      return std::nullopt;
    }
    Assembly assembly = assemble(*entry.spec, std::move(scan.devices));
    std::ranges::move(assembly.remarks, std::back_inserter(all.remarks));
    for (auto& [resource, devices] : assembly.resources) {
      check_devices(host, resource, *entry.spec, scan.numbers, devices);
      find_units(host, *entry.spec, devices);
    }
    add_devices(assembly.resources, surveyed);
    for (const auto* places : {&scan.unmatched, &assembly.unmatched}) {
      for (const std::string& place : *places)
        all.unmatched.push_back(entry.where + ": " + entry.spec->name.text() + ": `" + place +
                                "` matches no device at present");
    }
    return std::move(assembly.resources);
  } catch (const std::exception& exception) {
    surveyed.error = exception.what();
    all.errors.push_back(entry.where + ": " + entry.spec->name.text() + ": " + exception.what());
    return std::nullopt;
  }
}

DevicesOf scan_entries(const EntriesOfName& entries, const HostRoot& host, Survey& all) {
  if (entries.size() == 1) return scan_entry(*entries.front(), host, all).value_or(DevicesOf());
  std::vector<EntryFound> parts;
  for (const ResourceConfig* entry : entries) {
    auto found = scan_entry(*entry, host, all);
    if (!found) continue;
    parts.push_back({entry->spec, std::make_shared<const DevicesOf>(std::move(*found))});
  }
  Assembly joint = join(parts);
  std::ranges::move(joint.remarks, std::back_inserter(all.remarks));
  return std::move(joint.resources);
}

// Returns true if the container is given the node, if the node's number is unknown, or if runc lets every
// container open the node, however it gets there. 10:200, tun, is missing in runc 1.2.0 to 1.2.3. Source:
// runc's specconv.AllowedDevices.
bool may_open(const HostRoot& host, const Allocation& allocation, const std::string& node, FileType type) {
  static constexpr std::string_view kOpen[] = {"1:3", "1:5", "1:7", "1:8",   "1:9",
                                               "5:0", "5:1", "5:2", "10:200"};
  const auto number = host.device_number(node);
  const auto is_it = [&](const ContainerNode& each) { return host.device_number(each.host_path) == number; };
  return !number ||
         (type == FileType::kCharacter &&
          (number->starts_with("136:") || std::ranges::find(kOpen, *number) != std::end(kOpen))) ||
         std::ranges::any_of(allocation.nodes, is_it) || std::ranges::any_of(allocation.by_cdi.nodes, is_it);
}

// Returns the first device node that a mount of the path shows and that the container may not open, or "".
std::string closed_node_at(const HostRoot& host, const Allocation& allocation, const std::string& path,
                           FileType type) {
  std::string closed;
  const auto look_at = [&](const std::string& node, FileType its) {
    if (closed.empty() && is_device_node(its) && !may_open(host, allocation, node, its)) closed = node;
  };
  look_at(path, type);
  if (type == FileType::kDirectory)
    host.list(path,
              [&](std::string_view name, FileType its) { look_at(path + '/' + std::string(name), its); });
  return closed;
}

// Adds "vendor.com/class" of each name in "vendor.com/class=a,vendor.com/class=b", except the kind `own` and
// kinds with a placeholder.
void add_kinds(const std::string& names, std::string_view own, std::set<std::string>& kinds) {
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    std::string kind = name.substr(0, name.find('='));
    if (kind.size() < name.size() && kind.find('{') == kind.npos && kind != own)
      kinds.insert(std::move(kind));
  }
}

constexpr std::string_view kCdiAnnotation = "cdi.k8s.io/";

// A container's answer for one device, as far as plughost knows it.
struct Answer {
  const AllocationSpec& terms;
  const Allocation& allocation;
  std::set<std::string> kinds;  // kinds of the CDI devices that other programs specify

  // Returns true if the container may get more device nodes: from an `allocate` program, another program's
  // CDI specification, or a runtime hook that a variable such as NVIDIA_VISIBLE_DEVICES controls.
  bool others_add() const {
    return terms.allocate || !kinds.empty() || std::ranges::any_of(allocation.env, [](const auto& variable) {
             return variable.first.ends_with("_VISIBLE_DEVICES");
           });
  }
};

template <typename Use>
void for_each_answer(const ResourceSnapshot& snapshot, Use use) {
  for (const Device& device : snapshot.inventory.devices()) {
    const auto outcome = allocate_device(snapshot.resource, *snapshot.spec, device, {.pod = UnitsPod{}});
    const auto* const allocation = std::get_if<Allocation>(&outcome);
    if (!allocation) continue;
    Answer answer{.terms = terms_of(device, *snapshot.spec), .allocation = *allocation, .kinds = {}};
    const std::string own = answer.terms.cdi == CdiNames::kNone ? "" : snapshot.resource;
    for (const std::string& name : allocation->cdi) add_kinds(name, own, answer.kinds);
    for (const auto& [key, value] : allocation->annotations)
      if (key.starts_with(kCdiAnnotation)) add_kinds(value, own, answer.kinds);
    use(answer);
  }
}

// Adds the CDI names that the entry or its kind uses, whether the entry has devices or not.
void add_use(const ResourceConfig& entry, CdiUse& use) {
  const auto add_names = [&use](const auto& annotations) {
    for (const auto& [key, value] : annotations) {
      if (!key.text().starts_with(kCdiAnnotation)) continue;
      use.any = true;
      add_kinds(value.text(), {}, use.kinds);
    }
  };
  add_names(entry.spec->annotations);
  for (const auto& spec : entry.source->specs()) {
    add_names(spec->annotations);
    use.any = use.any || !spec->cdi.empty();
  }
  if (entry.spec->cdi != CdiNames::kNone) use.own.insert(entry.spec->name.text());
  use.any = use.any || !use.own.empty();
  use.programs = use.programs || entry.spec->allocate.has_value();
}

// Returns a remark on the mount, or an empty string if no problem is certain.
std::string remark_on(const HostRoot& host, const Answer& answer, const std::string& path) {
  const FileType type = host.type(path);
  if (type == FileType::kSocket)
    return path +
           " is a socket: if its server makes it again, a running container still has the old one; mount the "
           "directory that it is in";
  const std::string node = answer.others_add() ? "" : closed_node_at(host, answer.allocation, path, type);
  if (node.empty()) return {};
  return (node == path ? path + " is a device node" : path + " has device nodes, such as " + node) +
         ": a mount gives a container no right to open it; give the node, by `nodes`, or by a path without "
         "`type: Mount`";
}

void add_remarks(const HostRoot& host, const ResourceSnapshot& snapshot, std::vector<std::string>& remarks) {
  std::set<std::string> seen;
  for_each_answer(snapshot, [&](const Answer& answer) {
    for (const auto* mounts : {&answer.allocation.mounts, &answer.allocation.by_cdi.mounts}) {
      for (const ContainerMount& mount : *mounts) {
        if (!seen.insert(mount.host_path).second) continue;
        std::string remark = remark_on(host, answer, mount.host_path);
        if (!remark.empty()) remarks.push_back(snapshot.resource + ": " + std::move(remark));
      }
    }
  });
}

// Returns why a container with two devices would be refused although each alone is Healthy, as a sentence;
// empty if it would not. A rule of the entry about the number of shares is no reason.
std::string refusal_of_two(const ResourceSnapshot& snapshot) {
  std::vector<std::string> ids;
  for (const Device& device : snapshot.inventory.devices())
    if (device.healthy() && ids.size() < 2) ids.push_back(replica_id(device, 0));
  if (ids.size() < 2) return {};
  const auto outcome = allocate(snapshot.resource, *snapshot.spec, snapshot.inventory, ids);
  const auto* const refusal = std::get_if<Refusal>(&outcome);
  if (!refusal || refusal->reason != Refusal::Reason::kConflict) return {};
  return "a container that requests two devices is refused: " + refusal->text;
}

// Adds a remark for each two resources that list the same hardware. Shared devices have no units.
void add_overlaps(const std::vector<ResourceSnapshot>& snapshots, std::vector<std::string>& remarks) {
  std::map<std::string_view, std::pair<const ResourceSnapshot*, const Device*>> first;
  std::set<std::pair<const ResourceSnapshot*, const ResourceSnapshot*>> known;
  for (const ResourceSnapshot& snapshot : snapshots) {
    for (const Device& device : snapshot.inventory.devices()) {
      for (const std::string& unit : device.hardware->units) {
        const auto [found, is_new] = first.try_emplace(unit, &snapshot, &device);
        const auto [other, its] = found->second;
        if (other == &snapshot || !known.emplace(other, &snapshot).second) continue;
        remarks.push_back(other->resource + '=' + its->id + " and " + snapshot.resource + '=' + device.id +
                          " are the same hardware: one container at a time gets it, and the scheduler counts "
                          "it twice; leave it out of one of the entries with `except`, if that is not meant");
      }
    }
  }
}

}  // namespace

std::string SurveyedEntry::why_no_devices() const {
  return listed > 0 || undecided || !error.empty() ? "" : plughost::why_no_devices(funnels);
}

Survey survey(const Config& config, const HostRoot& host) {
  Survey all;
  Selection selection = select(config, host);
  const Config applies = applying(config, selection);
  std::ranges::move(selection.errors, std::back_inserter(all.errors));
  all.others = std::move(selection.others);
  for (const EntriesOfName& entries : by_name(applies.resources)) {
    for (auto& [name, devices] : scan_entries(entries, host, all))
      all.snapshots.push_back({name, Inventory(std::move(devices)), entries.front()->spec});
  }
  std::ranges::stable_sort(all.snapshots, {}, &ResourceSnapshot::resource);
  return all;
}

CdiUse cdi_use(const Config& config, const Survey& found) {
  CdiUse use;
  for (const ResourceConfig& entry : config.resources) {
    if (std::ranges::find(found.others, entry.where, &NotHere::where) == found.others.end())
      add_use(entry, use);
  }
  for (const ResourceSnapshot& snapshot : found.snapshots)
    for_each_answer(snapshot, [&](Answer& answer) { use.kinds.merge(answer.kinds); });
  return use;
}

std::vector<std::string> remarks_on(const HostRoot& host, const std::vector<ResourceSnapshot>& snapshots) {
  std::vector<std::string> remarks;
  for (const ResourceSnapshot& snapshot : snapshots) {
    if (std::string refusal = refusal_of_two(snapshot); !refusal.empty())
      remarks.push_back(std::move(refusal));
  }
  add_overlaps(snapshots, remarks);
  for (const ResourceSnapshot& snapshot : snapshots) add_remarks(host, snapshot, remarks);
  return remarks;
}

}  // namespace plughost
