#include "fleet/mount_remarks.hpp"

#include <algorithm>
#include <set>
#include <variant>

#include "allocate/allocation.hpp"

namespace plughost {
namespace {

std::string first_node_in(const HostRoot& host, const std::string& directory) {
  std::string first;
  host.list(directory, [&](std::string_view name, FileType type) {
    if (first.empty() && is_device_node(type)) first = directory + '/' + std::string(name);
  });
  return first;
}

// The device node that a mount of the path shows; empty: none.
std::string node_at(const HostRoot& host, const std::string& path, FileType type) {
  if (is_device_node(type)) return path;
  return type == FileType::kDirectory ? first_node_in(host, path) : "";
}

bool gives(const HostRoot& host, const Allocation& allocation, const std::string& node) {
  const auto number = host.device_number(node);
  for (const auto* nodes : {&allocation.nodes, &allocation.by_cdi.nodes}) {
    if (std::ranges::any_of(
            *nodes, [&](const ContainerNode& each) { return host.device_number(each.host_path) == number; }))
      return true;
  }
  return false;
}

// Empty: there is nothing to say.
std::string remark_on(const HostRoot& host, const Allocation& allocation, const std::string& path) {
  const FileType type = host.type(path);
  if (type == FileType::kSocket)
    return path +
           " is a socket: when its server starts anew, a running container still has the old one; mount the "
           "directory that it is in";
  const std::string node = node_at(host, path, type);
  if (node.empty() || gives(host, allocation, node)) return {};
  return (node == path ? path + " is a device node" : path + " has device nodes, such as " + node) +
         ": a mount gives a container no right to open it; give the node, by `nodes`, or by a path without "
         "`type: Mount`";
}

void add_remarks(const HostRoot& host, const Offer& offer, std::vector<std::string>& remarks) {
  std::set<std::string> seen;
  for (const Device& device : offer.inventory.devices()) {
    const auto answer = allocate_device(offer.resource, *offer.recipe, device, {.pod = UnitsPod{}});
    const auto* const allocation = std::get_if<Allocation>(&answer);
    if (!allocation) continue;
    for (const auto* mounts : {&allocation->mounts, &allocation->by_cdi.mounts}) {
      for (const ContainerMount& mount : *mounts) {
        if (!seen.insert(mount.host_path).second) continue;
        std::string remark = remark_on(host, *allocation, mount.host_path);
        if (!remark.empty()) remarks.push_back(offer.resource + ": " + std::move(remark));
      }
    }
  }
}

}  // namespace

std::vector<std::string> mount_remarks(const HostRoot& host, const std::vector<Offer>& offers) {
  std::vector<std::string> remarks;
  for (const Offer& offer : offers) add_remarks(host, offer, remarks);
  return remarks;
}

}  // namespace plughost
