#include "host/hardware/device_nodes.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

#include "base/system/files.hpp"
#include "host/hardware/pci_function.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& directory) {
  const fs::path relative = path.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != ".." && relative != ".";
}

std::string end_of_links(const HostRoot& host, const std::string& path) {
  if (path.starts_with("/dev/")) return node_behind(host, path);
  std::error_code failed;
  const fs::path end = fs::canonical(host.at(path), failed);
  if (failed) return path;
  const fs::path root = host.at("/");
  return is_below(end, root) ? fs::path("/") / end.lexically_relative(root) : end;
}

std::string no_node(const std::string& path) {
  return "there is no " + path + " here: if the node is itself a container, that container must have it";
}

std::string no_device_node(const std::string& path) { return path + " is not a device node"; }

enum class Found { kNode, kOther, kNothing, kElsewhere };

struct Look {
  Found found;
  fs::path path = {};  // the path without links, if it exists
};

// Examines a path below /dev without leaving /dev, because a link may lead to a file system that hangs.
Look look(const HostRoot& host, const std::string& node) {
  const fs::path dev = host.at("/dev");
  fs::path path = host.at(node);
  for (int links = 0; links <= kMostLinks; ++links) {
    if (!is_below(path, dev) && !is_below(path, "/dev")) return {.found = Found::kElsewhere};
    fs::path seen = is_below(path, dev) ? dev : fs::path("/dev");
    const fs::path rest = path.lexically_relative(seen);
    fs::path next;
    for (auto component = rest.begin(); component != rest.end(); ++component) {
      const fs::path here = seen / *component;
      struct stat status {};
      if (::lstat(here.c_str(), &status) != 0) return {.found = Found::kNothing};
      if (S_ISLNK(status.st_mode)) {
        std::error_code failed;
        next = seen / fs::read_symlink(here, failed);
        for (auto after = std::next(component); after != rest.end(); ++after) next /= *after;
        break;
      }
      seen = here;
      if (std::next(component) == rest.end()) {
        const bool is_node = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
        return {.found = is_node ? Found::kNode : Found::kOther, .path = seen};
      }
    }
    path = next.lexically_normal();
  }
  return {.found = Found::kNothing};
}

// Checks each node once per scan: many devices share nodes.
class NodeChecks {
 public:
  NodeChecks(const HostRoot& host, const NodeNumbers& numbers)
      : host_(host), numbers_(numbers), groups_(host), only_files_tell_(!udevd_runs(host)) {}

  // Returns why one of the nodes cannot be passed into a container; empty if all can be passed.
  std::string error_of(const Allocation& allocation) {
    for (const auto* const nodes : {&allocation.nodes, &allocation.by_cdi.nodes}) {
      for (const ContainerNode& node : *nodes) {
        const auto [known, is_new] = known_.try_emplace(node.host_path);
        if (is_new) known->second = look_at(node.host_path);
        if (!known->second.empty()) return known->second;
      }
    }
    return {};
  }

  // Returns the directories in which a missing node may appear, or, without a udevd and so without events,
  // the directories of all nodes; at most HostRoot::kMostWatched. For a VFIO group, adds the events of its
  // functions.
  ReasonsToCheck reasons() && {
    ReasonsToCheck reasons{{std::move_iterator(watch_.begin()), std::move_iterator(watch_.end())}, {}};
    if (has_groups_) reasons.subsystems = {"pci"};
    return reasons;
  }

 private:
  std::string look_at(const std::string& path) {
    const FileType type = host_.type(path);
    const fs::path file(path);
    const bool room = watch_.size() < HostRoot::kMostWatched;
    if (room && type == FileType::kNothing)
      watch_.insert({.path = file.parent_path(), .name = file.filename()});
    else if (room && only_files_tell_)
      watch_.insert({.path = file.parent_path()});
    if (type == FileType::kNothing) return no_node(path);
    if (!is_device_node(type)) return no_device_node(path);
    const auto expected = numbers_.find(path);
    const std::string number =
        (type == FileType::kBlock ? "b" : "c") + host_.device_number(path).value_or("");
    if (expected != numbers_.end() && number != expected->second)
      return path + " is another device's node: it is " + number + ", and the device is " + expected->second +
             " (c: character, b: block)";
    const std::string group = groups_.group_of(path);
    if (group.empty()) return {};
    has_groups_ = true;
    return groups_.error_of(group);
  }

  const HostRoot& host_;
  const NodeNumbers& numbers_;
  VfioGroups groups_;
  const bool only_files_tell_;
  bool has_groups_ = false;
  std::map<std::string, std::string> known_;  // by path: why the node cannot be passed into a container
  std::set<WatchedDirectory> watch_;
};

// Returns true if neither the device nor its entry adds anything to a container.
bool is_bare(const Device& device, const AllocationSpec& spec) {
  return device.nodes.empty() && device.mounts.empty() && device.env.empty() && !device.spec &&
         spec.nodes.empty() && spec.mounts.empty() && spec.env.empty() && spec.annotations.empty();
}

std::optional<std::string> link_in(const SysDevice& device, std::string_view directory) {
  for (const std::string& link : device.links()) {
    if (link.find(directory) != std::string::npos) return link;
  }
  return std::nullopt;
}

}  // namespace

std::string missing_device_node(const HostRoot& host, const Allocation& allocation) {
  std::vector<ContainerNode> nodes = allocation.nodes;
  std::ranges::copy(allocation.by_cdi.nodes, std::back_inserter(nodes));
  for (const ContainerNode& node : nodes) {
    if (!node.host_path.starts_with("/dev/")) continue;
    const Found found = look(host, node.host_path).found;
    if (found == Found::kNothing) return no_node(node.host_path);
    if (found == Found::kOther) return no_device_node(node.host_path);
  }
  return {};
}

std::string node_behind(const HostRoot& host, const std::string& path) {
  if (!path.starts_with("/dev/")) return path;
  const fs::path behind = look(host, path).path;
  if (behind.empty()) return path;
  const fs::path dev = host.at("/dev");
  return is_below(behind, dev) ? fs::path("/dev") / behind.lexically_relative(dev) : behind;
}

ReasonsToCheck check_devices(const HostRoot& host, const std::string& resource, const AllocationSpec& spec,
                             const NodeNumbers& numbers, std::vector<Device>& devices) {
  NodeChecks nodes(host, numbers);
  for (Device& device : devices) {
    if (is_bare(device, spec)) continue;
    const auto answer = allocate_device(resource, spec, device, {.of_container = 1, .pod = UnitsPod{}});
    const auto* const allocation = std::get_if<Allocation>(&answer);
    std::string error = allocation ? nodes.error_of(*allocation) : std::get<Refusal>(answer).text;
    if (device.error.empty()) device.error = std::move(error);
    if (!allocation) continue;
    for (const ContainerNode& node : allocation->by_cdi.nodes) {
      CdiNode known{.path = node.host_path, .node = end_of_links(host, node.host_path)};
      struct stat status {};
      if (spec.group_access && ::stat(host.at(known.node).c_str(), &status) == 0) known.group = status.st_gid;
      if (known != CdiNode{node.host_path, node.host_path}) device.cdi_nodes.push_back(std::move(known));
    }
  }
  return std::move(nodes).reasons();
}

std::optional<std::string> unit_of(const HostRoot& host, const std::string& node) {
  static constexpr std::string_view kForAll[] = {"/dev/null",
                                                 "/dev/zero",
                                                 "/dev/full",
                                                 "/dev/random",
                                                 "/dev/urandom",
                                                 "/dev/tty",
                                                 "/dev/fuse",
                                                 "/dev/kvm",
                                                 "/dev/net/tun",
                                                 "/dev/vhost-net",
                                                 "/dev/vhost-vsock",
                                                 "/dev/vfio/vfio",
                                                 "/dev/iommu",
                                                 "/dev/kfd",
                                                 "/dev/dma_heap/system",
                                                 "/dev/infiniband/rdma_cm",
                                                 "/dev/nvidiactl",
                                                 "/dev/nvidia-uvm",
                                                 "/dev/nvidia-uvm-tools",
                                                 "/dev/nvidia-modeset"};
  const std::string path = host.canonical(node).value_or(node);
  if (std::ranges::find(kForAll, path) != std::end(kForAll)) return std::nullopt;
  if (const auto device = SysDevice::behind(host, node)) return device->path();
  return host.device_number(node) ? path : "";
}

void find_units(const HostRoot& host, const AllocationSpec& spec, std::vector<Device>& devices) {
  std::map<std::string, std::vector<Device*>> of;
  for (Device& device : devices) {
    const bool has_nodes = !device.nodes.empty() || !spec.nodes.empty();
    if (!has_nodes || device.replicas > 1 || !device.hardware->units.empty()) continue;
    std::set<std::string> paths;
    for (const DeviceNode& node : device.nodes) paths.insert(node.host_path);
    for (const NodeSpec& node : spec.nodes) {
      const auto value = [&](std::string_view name) { return device.value(name); };
      const auto path = node.host_path.literal() ? std::nullopt : node.host_path.expand(value);
      if (path) paths.insert(*path);
    }
    for (const std::string& path : paths) of[path].push_back(&device);
  }
  for (const auto& [path, its] : of) {
    if (its.size() > 1) continue;
    const std::string unit = unit_of(host, path).value_or("");
    if (!unit.empty()) its.front()->hardware.edit().units.push_back(unit);
  }
}

std::optional<std::string> link_by_id(const SysDevice& device) {
  return device.property("ID_SERIAL_SHORT").empty() ? std::nullopt : link_in(device, "/by-id/");
}

std::optional<std::string> link_by_path(const SysDevice& device) { return link_in(device, "/by-path/"); }

std::optional<std::string> lasting_link(const HostRoot& host, const SysDevice& device, bool has_twin) {
  const auto leads_elsewhere = [&](const std::string& link) {
    const auto behind = host.canonical(link);
    return behind && behind != device.node();
  };
  for (const auto& link : {has_twin ? std::nullopt : link_by_id(device), link_by_path(device)}) {
    if (link && !leads_elsewhere(*link)) return link;
  }
  return std::nullopt;
}

}  // namespace plughost
