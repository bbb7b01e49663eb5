// `groups`: paths that belong together. The n-th match of each path in a group makes one device.

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "kinds/kind.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostCount = 10'000;
constexpr std::string_view kAttributes[] = {"name", "path", "target"};

enum class PathType { kDevice, kMount };
constexpr std::string_view kTypeWords[] = {"Device", "Mount"};  // in the order of PathType

struct GroupPath {
  std::string pattern;
  Template mount_path;
  std::string permissions;
  PathType type = PathType::kDevice;
  bool read_only = false;
  bool optional = false;
  unsigned limit = 1;
};

struct Group {
  unsigned count = 1;
  std::vector<GroupPath> paths;
};

bool is_wildcard(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

// What a device that was found at path is called. The links in /dev/…/by-id and its like are names already.
std::string name_of(const std::string& path) {
  const bool in_dev = path.starts_with("/dev/");
  const fs::path whole = path;
  if (in_dev && whole.parent_path().filename().string().starts_with("by-")) return whole.filename();
  std::string name = path.substr(in_dev ? std::string_view("/dev/").size() : 1);
  std::ranges::replace(name, '/', '_');
  return name;
}

// Where the links of path lead, as a path of the machine.
std::string target_of(const HostRoot& host, const std::string& path) {
  std::error_code failed;
  const fs::path found = fs::canonical(host.at(path), failed);
  if (failed) return path;
  const fs::path below = found.lexically_relative(fs::canonical(host.at("/"), failed));
  return !below.empty() && *below.begin() != ".." ? fs::path("/") / below : found;
}

// What stands at path, if it is not the device node that it should be; empty: it is one.
std::string_view other_than_device_node(const HostRoot& host, const std::string& path) {
  std::error_code failed;
  switch (fs::status(host.at(path), failed).type()) {
    case fs::file_type::character:
    case fs::file_type::block:
      return {};
    case fs::file_type::directory:
      return "a directory";
    case fs::file_type::regular:
      return "a regular file";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::symlink:
    case fs::file_type::none:
    case fs::file_type::not_found:
    case fs::file_type::unknown:
      break;
  }
  return "something that cannot be looked at";
}

// What was found for one path of a group.
struct Matches {
  const GroupPath* from;
  std::vector<std::string> paths;
  std::string trouble;  // why they cannot be given to a container; empty: they can

  std::size_t usable() const { return paths.size() * from->limit; }
};

Matches find_matches(const GroupPath& from, const HostRoot& host, Scan& scan) {
  Matches matches{.from = &from, .paths = {}, .trouble = {}};
  HostRoot::Match found = host.glob(from.pattern);
  std::ranges::move(found.watch, std::back_inserter(scan.watch));
  for (std::string& path : found.paths) {
    const std::string_view other = from.type == PathType::kDevice ? other_than_device_node(host, path) : "";
    // A pattern may match directories beside the nodes; who names one path means that one.
    if (!other.empty() && is_wildcard(from.pattern)) continue;
    if (!other.empty()) {
      matches.trouble = from.pattern + " is " + std::string(other) +
                        ", not a device node; `type: Mount` gives files and directories";
    }
    matches.paths.push_back(std::move(path));
  }
  return matches;
}

// What a match brings into the container.
void add_match(Device& device, const GroupPath& from, const std::string& path) {
  std::string container_path = from.mount_path
                                   .bind([&](std::string_view placeholder) -> std::optional<std::string> {
                                     if (placeholder == "path") return path;
                                     if (placeholder == "name") return name_of(path);
                                     return std::nullopt;
                                   })
                                   .text();
  if (container_path.ends_with('/')) container_path += Template::escape(fs::path(path).filename().string());
  switch (from.type) {
    case PathType::kDevice:
      device.nodes.push_back(
          {.host_path = path, .container_path = std::move(container_path), .permissions = from.permissions});
      break;
    case PathType::kMount:
      device.mounts.push_back(
          {.host_path = path, .container_path = std::move(container_path), .read_only = from.read_only});
      break;
  }
}

class Groups final : public DeviceSource {
 public:
  explicit Groups(std::vector<Group> groups) : groups_(std::move(groups)) {}

  Scan scan(const HostRoot& host) const override {
    Scan scan;
    for (const Group& group : groups_) scan_group(group, host, scan);
    std::ranges::sort(scan.watch);
    scan.watch.erase(std::unique(scan.watch.begin(), scan.watch.end()), scan.watch.end());
    return scan;
  }

 private:
  static void scan_group(const Group& group, const HostRoot& host, Scan& scan);

  std::vector<Group> groups_;
};

void Groups::scan_group(const Group& group, const HostRoot& host, Scan& scan) {
  std::vector<Matches> all;
  std::size_t most = 0;
  std::size_t fewest_required = std::numeric_limits<std::size_t>::max();
  for (const GroupPath& path : group.paths) {
    const Matches& matches = all.emplace_back(find_matches(path, host, scan));
    most = std::max(most, matches.paths.size());
    if (!path.optional) fewest_required = std::min(fewest_required, matches.usable());
  }
  for (std::size_t i = 0; i < std::min(most, fewest_required); ++i) {
    Device device;
    device.replicas = group.count;
    for (const Matches& matches : all) {
      if (i >= matches.usable()) continue;
      const std::string& path = matches.paths[i % matches.paths.size()];
      if (device.id.empty()) {
        const std::string name = name_of(path);
        const std::size_t repetition = i / matches.paths.size();
        device.id = repetition == 0 ? name : name + '-' + std::to_string(repetition);
        device.attributes = {{.name = "name", .value = name},
                             {.name = "path", .value = path},
                             {.name = "target", .value = target_of(host, path)}};
      }
      add_match(device, *matches.from, path);
      if (device.healthy()) device.trouble = matches.trouble;
    }
    scan.devices.push_back(std::move(device));
  }
}

GroupPath read_path(Fields& fields) {
  static constexpr std::string_view kMountPathNames[] = {"path", "name", "n"};
  GroupPath path;
  if (!fields.has("path")) fields.error("path", "the path is missing, as in path: /dev/ttyUSB*");
  path.pattern = fields.absolute_path("path", "/");
  path.mount_path = fields.pattern("mountPath", "{path}", kMountPathNames);
  const std::string& mount_path = path.mount_path.text();
  if (fields.has("mountPath") && !mount_path.starts_with('/') && !mount_path.starts_with("{path}")) {
    fields.error("mountPath", "a path in the container begins with '/', as in /dev/modem");
  }
  path.type = static_cast<PathType>(fields.choice("type", kTypeWords, 0));
  path.permissions = fields.text("permissions", "rw");
  if (path.permissions.empty() || path.permissions.find_first_not_of("rwm") != std::string::npos) {
    fields.error("permissions",
                 "permissions are one or more of r (read), w (write) and m (make the node), as in rw");
  }
  path.read_only = fields.flag("readOnly", false);
  if (path.type == PathType::kDevice && path.read_only) {
    fields.error("readOnly",
                 "a device node is made read-only by permissions: r; readOnly is for type: Mount");
  }
  if (path.type == PathType::kMount && fields.has("permissions")) {
    fields.warning("permissions", "a mount has no permissions; use readOnly: true or false");
  }
  path.optional = fields.flag("optional", false);
  path.limit = fields.number("limit", 1, 1, kMostCount);
  return path;
}

Group read_group(Fields& fields) {
  Group group;
  group.count = fields.number("count", 1, 1, kMostCount);
  const std::vector<Node>& paths = fields.items("paths");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Fields path(paths[i], fields.path_of("paths") + '[' + std::to_string(i) + ']', fields.diagnostics());
    group.paths.push_back(read_path(path));
  }
  if (paths.empty())
    fields.error("paths", "a group has at least one path, as in paths: [{path: /dev/ttyUSB*}]");
  return group;
}

std::unique_ptr<const DeviceSource> read(Fields& entry) {
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
  return {.key = "groups", .attributes = kAttributes, .default_id = "", .read = read};
}

}  // namespace plughost
