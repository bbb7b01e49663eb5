#include "kubernetes/kubelet/wire.hpp"

#include "deviceplugin/v1beta1/deviceplugin.pb.h"

namespace plughost {

void write_allocation(const Allocation& allocation, v1beta1::ContainerAllocateResponse& out) {
  for (const auto& [name, value] : allocation.env) (*out.mutable_envs())[name] = value;
  for (const ContainerMount& mount : allocation.mounts) {
    v1beta1::Mount& to = *out.add_mounts();
    to.set_container_path(mount.container_path);
    to.set_host_path(mount.host_path);
    to.set_read_only(mount.read_only);
  }
  for (const ContainerNode& node : allocation.nodes) {
    v1beta1::DeviceSpec& to = *out.add_devices();
    to.set_container_path(node.container_path);
    to.set_host_path(node.host_path);
    to.set_permissions(node.permissions);
  }
  for (const auto& [name, value] : allocation.annotations) (*out.mutable_annotations())[name] = value;
  for (const std::string& name : allocation.cdi) out.add_cdi_devices()->set_name(name);
}

void write_list(const Inventory& inventory, v1beta1::ListAndWatchResponse& out) {
  out.mutable_devices()->Reserve(static_cast<int>(inventory.id_count()));
  inventory.for_each_share([&](std::string id, const Device& device, bool healthy) {
    v1beta1::Device& to = *out.add_devices();
    to.set_id(std::move(id));
    to.set_health(healthy ? "Healthy" : "Unhealthy");
    for (const int node : device.numa_nodes) to.mutable_topology()->add_nodes()->set_id(node);
  });
}

Allocation read_allocation(const v1beta1::ContainerAllocateResponse& message) {
  Allocation allocation;
  allocation.env.insert(message.envs().begin(), message.envs().end());
  allocation.annotations.insert(message.annotations().begin(), message.annotations().end());
  for (const auto& mount : message.mounts())
    allocation.mounts.push_back({mount.host_path(), mount.container_path(), mount.read_only()});
  for (const auto& node : message.devices())
    allocation.nodes.push_back({node.host_path(), node.container_path(), node.permissions()});
  for (const auto& device : message.cdi_devices()) allocation.cdi.push_back(device.name());
  return allocation;
}

std::optional<Allocation> parse_allocation(std::string_view bytes) {
  v1beta1::ContainerAllocateResponse message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return read_allocation(message);
}

}  // namespace plughost
