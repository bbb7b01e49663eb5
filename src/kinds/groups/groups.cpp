// `groups`: paths and USB devices that belong together. The n-th match of each part of a group makes one
// device.

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "kinds/groups/part.hpp"

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
    std::ranges::sort(scan.watch);
    scan.watch.erase(std::unique(scan.watch.begin(), scan.watch.end()), scan.watch.end());
    std::ranges::sort(scan.subsystems);
    scan.subsystems.erase(std::unique(scan.subsystems.begin(), scan.subsystems.end()), scan.subsystems.end());
    return scan;
  }
  std::vector<Target> targets() const override {
    std::vector<Target> targets;
    for (const Group& group : groups_) {
      Target target;
      const bool known = std::ranges::all_of(group.parts, [&](const auto& part) {
        return !part->optional && part->limit == 1 && !part->target().empty() &&
               target.insert(part->target()).second;
      });
      if (known && !target.empty()) targets.push_back(std::move(target));
    }
    return targets;
  }

 private:
  static void scan_group(const Group& group, const HostRoot& host, Scan& scan);

  std::vector<Group> groups_;
};

void add_piece(Device& device, const Piece& piece, std::size_t repetition) {
  if (device.id.empty()) {
    device.id = repetition == 0 ? piece.name : piece.name + '-' + std::to_string(repetition);
    device.attributes = piece.attributes;
    device.numa_nodes = piece.numa_nodes;
  }
  device.nodes.insert(device.nodes.end(), piece.nodes.begin(), piece.nodes.end());
  device.mounts.insert(device.mounts.end(), piece.mounts.begin(), piece.mounts.end());
  if (device.healthy()) device.trouble = piece.trouble;
}

void Groups::scan_group(const Group& group, const HostRoot& host, Scan& scan) {
  std::vector<std::vector<Piece>> found;
  std::size_t most = 0;
  std::size_t fewest_required = std::numeric_limits<std::size_t>::max();
  for (const auto& part : group.parts) {
    const std::vector<Piece>& pieces = found.emplace_back(part->find(host, scan));
    most = std::max(most, pieces.size());
    if (!part->optional) fewest_required = std::min(fewest_required, pieces.size() * part->limit);
  }
  for (std::size_t i = 0; i < std::min(most, fewest_required); ++i) {
    Device device;
    device.replicas = group.count;
    for (std::size_t part = 0; part < found.size(); ++part) {
      const std::vector<Piece>& pieces = found[part];
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
    Fields part(items[i], group.path_of(key) + '[' + std::to_string(i) + ']', group.diagnostics());
    parts.push_back(read(part));
  }
}

Group read_group(Fields& fields) {
  Group group;
  group.count = fields.number("count", 1, 1, kMostCount);
  read_parts(fields, "paths", read_path_part, group.parts);
  read_parts(fields, "usb", read_usb_part, group.parts);
  read_parts(fields, "usbs", read_usb_part, group.parts);  // MicroShift's word
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

Kind groups_kind() {
  return {.key = "groups", .attributes = kGroupsAttributes, .default_id = "", .read = read_groups};
}

}  // namespace plughost
