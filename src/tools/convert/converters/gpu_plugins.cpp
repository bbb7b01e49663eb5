// Intel's and Volcano's plugins, whose tables do not say all.

#include "base/text/text.hpp"
#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

// Returns a flag's number, from 1 to `most`.
unsigned number_of(PeerSettings& settings, const char* name, unsigned most, Reading& diagnostics) {
  const std::string text = *settings.text(name);
  const auto number = number_in(text, most);
  if (!number || *number == 0)
    diagnostics.error({.file = name}, "", quote(text) + " is not a number from 1 to " + std::to_string(most));
  return number.value_or(1);
}

}  // namespace

void convert_intel_gpu(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics) {
  PeerSettings settings(OtherPlugin::kIntelGpu, root, arguments, diagnostics);
  YamlDraft& entry = settings.write(draft);
  const unsigned replicas = number_of(settings, "shared-dev-num", kMostSharing, diagnostics);
  if (replicas > 1) entry.add("replicas", replicas);
  const std::string policy = *settings.text("allocation-policy");
  const bool is_ours = policy == "packed" || policy == "balanced";
  if (is_ours || replicas > 1) entry.add("allocationPolicy", policy == "packed" ? "packed" : "distributed");
  if (!is_ours && replicas > 1)
    draft.notes.push_back(
        "The policy `" + policy +
        "` gives a container shares of as many cards as it can; so does `distributed`, which takes the least "
        "used ones.");
  // Ids of PCI devices: "0x56c0,0x56c1".
  for (const auto& [flag, key] : {std::pair{"allow-ids", "only"}, std::pair{"deny-ids", "except"}}) {
    const std::vector<std::string> ids = words_between_commas(settings.text(flag).value_or(""));
    std::vector<std::string> devices = hardware_ids(ids, Node{.mark = {.file = flag}}, "", diagnostics);
    if (!devices.empty()) entry.add(key, YamlDraft::flow_map({{"device", std::move(devices)}}));
  }
  settings.finish(draft.notes);
}

void convert_volcano(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics) {
  PeerSettings settings(OtherPlugin::kVolcano, root, arguments, diagnostics);
  const std::string strategy = *settings.text("flags.GPUStrategy");
  if (strategy != "share" && strategy != "number")
    diagnostics.error({.file = "--gpu-strategy"}, "",
                      quote(strategy) + " is not one of its strategies; valid: share, number");
  constexpr unsigned kLargestFactor = 1024 * 1024;  // of plughost's `unit: {memory}`
  const unsigned mebibytes = number_of(settings, "flags.GPUMemoryFactor", kLargestFactor, diagnostics);
  if (strategy != "number") {
    YamlDraft& gpu = *settings.write(draft).find("gpu");
    gpu.add("unit", YamlDraft::flow_map({{"memory", std::to_string(mebibytes) + "MiB"}}));
    return settings.finish(draft.notes);
  }
  draft.without_remarks = true;
  settings.finish(draft.notes);
  draft.resources
      .add(YamlDraft::map(
          {{"name", "volcano.sh/gpu-number"}, {"gpu", YamlDraft::map({{"vendor", "nvidia"}})}}))
      .notes = {
      loss("Theirs gives the cards that the scheduler wrote into the pod (volcano.sh/gpu-index). For whole "
           "cards that has no counterpart: the kubelet chooses, and the annotation is not looked at.")};
}

}  // namespace plughost
