#include "telemetry/status_json.hpp"

#include "base/text.hpp"

namespace plughost {

namespace {

using Json = nlohmann::ordered_json;

Json time_or_null(std::int64_t microseconds) {
  return microseconds == 0 ? Json() : Json(utc_text(microseconds));
}

Json json_of(const v1::Device& device) {
  Json json{{"id", device.id()},
            {"health", device.trouble().empty() ? "Healthy" : "Unhealthy"},
            {"reason", device.trouble()},
            {"since", time_or_null(device.since())},
            {"numa", device.numa_nodes()},
            {"nodes", device.nodes()},
            {"replicas", device.replicas()},
            {"holders", Json::array()}};
  for (const v1::Holder& holder : device.holders())
    json["holders"].push_back({{"id", holder.id()},
                               {"namespace", holder.namespace_()},
                               {"pod", holder.pod()},
                               {"container", holder.container()}});
  return json;
}

Json json_of(const v1::Resource& resource) {
  const DeviceCounts counts = counts_of(resource);
  Json json{
      {"name", resource.name()},
      {"entry", resource.entry()},
      {"stage", stage_name(resource.stage())},
      {"since", time_or_null(resource.since())},
      {"trouble", resource.trouble()},
      {"troubleAt", time_or_null(resource.trouble_at())},
      {"nextTry", time_or_null(resource.next_try())},
      {"devices", {{"healthy", counts.healthy}, {"unhealthy", counts.unhealthy}, {"held", counts.held}}},
      {"list", Json::array()}};
  for (const v1::Device& device : resource.devices()) json["list"].push_back(json_of(device));
  return json;
}

}  // namespace

std::string stage_name(v1::Stage stage) {
  switch (stage) {
    case v1::STAGE_WAITING:
      return "waiting";
    case v1::STAGE_REGISTERING:
      return "registering";
    case v1::STAGE_ATTACHED:
      return "attached";
    case v1::STAGE_BACKING_OFF:
      return "backing off";
    default:  // of a daemon that is newer than this program
      return "unknown";
  }
}

DeviceCounts counts_of(const v1::Resource& resource) {
  DeviceCounts counts;
  for (const v1::Device& device : resource.devices()) {
    (device.trouble().empty() ? counts.healthy : counts.unhealthy) += device.replicas();
    counts.held += static_cast<std::size_t>(device.holders_size());
  }
  return counts;
}

Json json_of(const v1::Status& status) {
  const v1::Kubelet& kubelet = status.kubelet();
  const v1::Configuration& configuration = status.configuration();
  Json json{{"version", status.version()},
            {"startedAt", time_or_null(status.started_at())},
            {"kubelet",
             {{"present", kubelet.present()},
              {"directory", kubelet.directory()},
              {"since", time_or_null(kubelet.since())},
              {"process", kubelet.process() == 0 ? Json() : Json(kubelet.process())}}},
            {"configuration",
             {{"files", configuration.files()},
              {"hash", configuration.hash()},
              {"loadedAt", time_or_null(configuration.loaded_at())},
              {"refusedAt", time_or_null(configuration.refused_at())}}},
            {"holdersUnknown", status.holders_unknown()},
            {"resources", Json::array()}};
  for (const v1::Resource& resource : status.resources()) json["resources"].push_back(json_of(resource));
  return json;
}

Json json_of(const v1::Event& event) {
  Json json{{"time", time_or_null(event.time())},
            {"level", event.level()},
            {"message", event.message()},
            {"fields", Json::object()}};
  for (const v1::Field& field : event.fields()) json["fields"][field.key()] = field.value();
  return json;
}

Json json_of(const v1::ReloadResponse& answer) {
  return {{"errors", answer.errors()},
          {"warnings", answer.warnings()},
          {"added", answer.added()},
          {"changed", answer.changed()},
          {"removed", answer.removed()},
          {"unchanged", answer.unchanged()},
          {"kubeletChanged", answer.kubelet_changed()}};
}

}  // namespace plughost
