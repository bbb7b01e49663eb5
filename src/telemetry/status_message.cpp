#include "telemetry/status_message.hpp"

#include <cstdio>

namespace plughost {

namespace {

std::int64_t microseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::int64_t microseconds(const std::optional<WallTime>& time) {
  return time ? microseconds(*time) : 0;
}

v1::Stage to_message(Stage stage) {
  switch (stage) {
    case Stage::kWaiting:
      return v1::STAGE_WAITING;
    case Stage::kRegistering:
      return v1::STAGE_REGISTERING;
    case Stage::kAttached:
      return v1::STAGE_ATTACHED;
    case Stage::kBackingOff:
      return v1::STAGE_BACKING_OFF;
  }
  return v1::STAGE_UNSPECIFIED;
}

void write_device(const Device& device, const ResourceStatus& resource, const Holdings* holdings,
                  v1::Device& message) {
  message.set_id(device.id);
  message.set_trouble(device.trouble);
  message.set_replicas(device.replicas);
  message.set_since(microseconds(resource.health_times.since(device.id)));
  for (const int node : device.numa_nodes) message.add_numa_nodes(node);
  for (const DeviceNode& node : device.nodes) message.add_nodes(node.host_path);
  if (holdings == nullptr) return;
  const auto held = holdings->find(resource.name);
  if (held == holdings->end()) return;
  for (unsigned n = 0; n < device.replicas; ++n) {
    const auto found = held->second.find(replica_id(device, n));
    if (found == held->second.end()) continue;
    v1::Holder& holder = *message.add_holders();
    holder.set_id(found->first);
    holder.set_namespace_(found->second.pod_namespace);
    holder.set_pod(found->second.pod);
    holder.set_container(found->second.container);
  }
}

void write_resource(const ResourceStatus& resource, const Holdings* holdings, v1::Resource& message) {
  message.set_name(resource.name);
  message.set_entry(resource.entry);
  message.set_stage(to_message(resource.stage));
  message.set_since(microseconds(resource.since));
  message.set_trouble(resource.trouble);
  message.set_trouble_at(microseconds(resource.trouble_at));
  message.set_next_try(microseconds(resource.next_try));
  for (const Device& device : resource.offer->inventory.devices())
    write_device(device, resource, holdings, *message.add_devices());
}

}  // namespace

v1::Status to_message(const DaemonStatus& status) {
  const NodeStatus& node = *status.node;
  v1::Status message;
  message.set_version(status.version);
  message.set_started_at(microseconds(status.started_at));
  message.set_holders_unknown(node.holders_unknown);

  v1::Kubelet& kubelet = *message.mutable_kubelet();
  kubelet.set_present(node.kubelet);
  kubelet.set_directory(node.kubelet_directory.string());
  kubelet.set_since(microseconds(node.kubelet_since));
  kubelet.set_process(node.kubelet_process.value_or(0));

  v1::Configuration& configuration = *message.mutable_configuration();
  for (const auto& file : node.files) configuration.add_files(file.string());
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(node.config_hash));
  configuration.set_hash(hash);
  configuration.set_loaded_at(microseconds(status.loaded_at));
  configuration.set_refused_at(microseconds(status.refused_at));

  for (const ResourceStatus& resource : node.resources)
    write_resource(resource, node.holdings.get(), *message.add_resources());
  return message;
}

v1::Event to_message(const LogHistory::Record& record) {
  v1::Event event;
  event.set_time(microseconds(record.time));
  event.set_level(std::string(level_name(record.level)));
  event.set_message(record.words);
  for (const auto& [key, value] : record.fields) {
    v1::Field& field = *event.add_fields();
    field.set_key(key);
    field.set_value(value);
  }
  return event;
}

v1::ReloadResponse to_message(const ReloadAnswer& answer) {
  v1::ReloadResponse message;
  const auto copy = [](const std::vector<std::string>& from, auto* to) {
    for (const std::string& each : from) to->Add(std::string(each));
  };
  copy(answer.errors, message.mutable_errors());
  copy(answer.warnings, message.mutable_warnings());
  copy(answer.added, message.mutable_added());
  copy(answer.changed, message.mutable_changed());
  copy(answer.removed, message.mutable_removed());
  message.set_unchanged(static_cast<std::uint32_t>(answer.unchanged));
  message.set_kubelet_changed(answer.kubelet_changed);
  return message;
}

}  // namespace plughost
