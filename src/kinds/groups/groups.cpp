#include "kinds/groups/groups.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr unsigned kMostCount = 10'000;
constexpr std::string_view kGroupsAttributes[] = {"name",   "plainName", "path",   "target",
                                                  "vendor", "product",   "serial", "port"};

struct Group {
  unsigned count = 1;
  std::vector<std::unique_ptr<GroupPart>> parts;
};

class Groups final : public DeviceSource {
 public:
  explicit Groups(std::vector<Group> groups) : groups_(std::move(groups)) {}

  Scan scan(const HostRoot& host) const override {
    Scan scan;
    for (const Group& group : groups_) scan_group(group, host, scan);
    sort_unique(scan.watch);
    sort_unique(scan.subsystems);
    return scan;
  }

 private:
  static void scan_group(const Group& group, const HostRoot& host, Scan& scan);

  std::vector<Group> groups_;
};

void add_piece(Device& device, const Device& piece, std::size_t repetition) {
  if (device.id.empty()) {
    const std::string more = repetition == 0 ? "" : '-' + std::to_string(repetition);
    device.id = piece.id + more;
    if (const std::string& by_place = piece.hardware->ids.by_place; !by_place.empty()) {
      Hardware& hardware = device.hardware.edit();
      hardware.ids.by_place = by_place + more;
      hardware.at_place = piece.hardware->at_place;
    }
    device.attributes = piece.attributes;
    device.numa_nodes = piece.numa_nodes;
  }
  device.nodes.insert(device.nodes.end(), piece.nodes.begin(), piece.nodes.end());
  device.mounts.insert(device.mounts.end(), piece.mounts.begin(), piece.mounts.end());
  if (!piece.hardware->units.empty())
    std::ranges::copy(piece.hardware->units, std::back_inserter(device.hardware.edit().units));
  if (device.healthy()) device.error = piece.error;
}

void Groups::scan_group(const Group& group, const HostRoot& host, Scan& scan) {
  std::vector<std::vector<Device>> found;
  std::size_t most = 0;
  std::size_t fewest_required = std::numeric_limits<std::size_t>::max();
  for (const auto& part : group.parts) {
    std::vector<Device>& pieces = found.emplace_back(part->find(host, scan));
    if (part->limit > 1)  // the limit lets several devices share hardware
      for (Device& piece : pieces) piece.hardware.edit().units.clear();
    most = std::max(most, pieces.size());
    if (!part->optional) fewest_required = std::min(fewest_required, pieces.size() * part->limit);
  }
  const std::size_t complete = std::min(most, fewest_required);
  if (complete > 0 && complete < most) {
    const std::string& selector = group.parts.front()->selector;
    scan.funnels.push_back(
        {.selector = selector.substr(0, selector.find('.')),
         .candidates = "device",
         .seen = most,
         .left_out = {{"another part of the group has no match for it", most - complete}}});
  }
  for (std::size_t i = 0; i < complete; ++i) {
    Device device;
    device.replicas = group.count;
    for (std::size_t part = 0; part < found.size(); ++part) {
      const std::vector<Device>& pieces = found[part];
      if (i < pieces.size() * group.parts[part]->limit)
        add_piece(device, pieces[i % pieces.size()], i / pieces.size());
    }
    scan.devices.push_back(std::move(device));
  }
}

void read_parts(Fields& group, std::string_view key, std::unique_ptr<GroupPart> (*read)(Fields&),
                std::vector<std::unique_ptr<GroupPart>>& parts) {
  const std::vector<Node>& items = group.items(key);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string path = group.path_of(key) + '[' + std::to_string(i) + ']';
    Fields part(items[i], path, group.diagnostics());
    parts.push_back(read(part));
    parts.back()->selector = path.substr(path.find('.') + 1);  // without "resources[2]"
  }
}

Group read_group(Fields& fields) {
  Group group;
  group.count = fields.number("count", 1, 1, kMostCount);
  read_parts(fields, "paths", read_path_part, group.parts);
  read_parts(fields, "usb", read_usb_part, group.parts);
  read_parts(fields, "usbs", read_usb_part, group.parts);  // MicroShift's key
  if (group.parts.empty()) {
    fields.error("paths",
                 "a group has at least one path or USB device, as in paths: [{path: /dev/ttyUSB*}] or usb: "
                 "[{vendor: \"1a86\", product: \"7523\"}]");
  }
  return group;
}

std::unique_ptr<const DeviceSource> read_groups(Fields& entry) {
  std::vector<Group> groups;
  const std::vector<Node>& nodes = entry.items("groups");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Fields group(nodes[i], entry.path_of("groups") + '[' + std::to_string(i) + ']', entry.diagnostics());
    groups.push_back(read_group(group));
  }
  if (nodes.empty())
    entry.error("groups", "at least one group is needed, as in groups: [{paths: [{path: /dev/kvm}]}]");
  return std::make_unique<Groups>(std::move(groups));
}

}  // namespace

std::string plain_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !is_letter_or_digit(c) && c != '-' && c != '_'; }, '_');
  return name;
}

void read_terms(Fields& fields, GroupPart& part) {
  constexpr unsigned kMost = 10'000;
  part.optional = fields.flag("optional", false);
  part.limit = fields.number("limit", 1, 1, kMost);
}

Template read_mount_path(Fields& fields) {
  static constexpr std::string_view kNames[] = {"path", "name", "n"};
  Template mount_path = fields.pattern("mountPath", "{path}", kNames);
  if (fields.has("mountPath") && !mount_path.text().starts_with('/') &&
      !mount_path.text().starts_with("{path}"))
    fields.error("mountPath", "a path in the container begins with '/', as in /dev/modem");
  return mount_path;
}

std::string place(const Template& mount_path, const std::string& name, const std::string& path) {
  std::string placed = mount_path
                           .bind([&](std::string_view placeholder) -> std::optional<std::string> {
                             if (placeholder == "path") return path;
                             if (placeholder == "name") return name;
                             return std::nullopt;
                           })
                           .text();
  if (placed.ends_with('/')) placed += Template::escape(std::filesystem::path(path).filename().string());
  return placed;
}

Kind groups_kind() { return {.attributes = kGroupsAttributes, .read = read_groups}; }

}  // namespace plughost
