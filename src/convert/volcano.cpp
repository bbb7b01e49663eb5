// Volcano's device plugin for NVIDIA's cards: memory of a card that Volcano's scheduler has chosen, or whole
// cards.

#include <optional>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"

namespace plughost {
namespace {

// The bound of plughost's `unit: {memory}`.
constexpr unsigned kLargestFactor = 1024 * 1024;

// What was said last of: the file, the variable, the flag.
std::string setting(LenientFields& flags, const char* key, Arguments& arguments, const char* flag,
                    std::string usual) {
  const std::optional<std::string> of_file = flags.text(key);
  return arguments.value(flag).value_or(of_file.value_or(std::move(usual)));
}

YamlDraft whole_cards() {
  YamlDraft entry = YamlDraft::map();
  entry.add("name", YamlDraft::text("volcano.sh/gpu-number"));
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("nvidia"));
  entry.add("gpu", std::move(gpu));
  entry.notes.emplace_back(
      "Theirs gives the cards that the scheduler wrote into the pod (volcano.sh/gpu-index). For whole cards "
      "that has no "
      "counterpart: the kubelet chooses, by `allocationPolicy` if there is one, and the annotation is not "
      "looked at.");
  return entry;
}

void convert_volcano(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* flag : {"v", "logtostderr", "alsologtostderr", "stderrthreshold", "config-file"})
    arguments.value(flag);
  LenientFields top(root, "", diagnostics);
  top.text("version");
  LenientFields flags(or_nothing(top.node("flags")), "flags", diagnostics);
  const std::string strategy = setting(flags, "GPUStrategy", arguments, "gpu-strategy", "share");
  const std::string factor = setting(flags, "GPUMemoryFactor", arguments, "gpu-memory-factor", "1");
  const auto mebibytes = number_in(factor, kLargestFactor);
  if (!mebibytes || *mebibytes == 0)
    diagnostics.error({.file = "--gpu-memory-factor"}, "",
                      quote(factor) + " is no number of MiB from 1 to " + std::to_string(kLargestFactor));
  if (strategy != "share" && strategy != "number")
    diagnostics.error({.file = "--gpu-strategy"}, "",
                      quote(strategy) + " is no strategy of theirs; there are share and number");

  if (strategy == "number") {
    draft.resources.add(whole_cards());
    draft.notes.emplace_back(
        "Its ClusterRole is needed no more once it runs nowhere: this asks no API server.");
  } else {
    draft.top.add("apiServer", api_server_draft());
    YamlDraft assume = YamlDraft::map();
    assume.add("dialect", YamlDraft::text("volcano"));
    YamlDraft entry = assumed_entry("volcano.sh/gpu-memory", std::to_string(mebibytes.value_or(1)) + "MiB",
                                    std::move(assume));
    entry.add("nodeResources", node_resource_draft("volcano.sh/gpu-number"));
    draft.resources.add(std::move(entry));
    add_assume_notes(draft);
    draft.notes.emplace_back(
        "Its ClusterRole (nodes: get; nodes/status: patch; pods: get, list, update) is needed no more once "
        "it "
        "runs nowhere. With the kubelet's own identity plughost needs no rule at all; another one needs "
        "pods: list, watch; pods/status and nodes/status: patch; nodes: list, watch.");
    draft.notes.emplace_back(
        "Its lock, the node's annotation `gpu`, is not taken: pods are told apart without it.");
  }
  draft.notes.emplace_back(
      "The node's annotation volcano.sh/gpu-unhealthy-ids is not written: a sick card's units are Unhealthy, "
      "so the node's allocatable count is less by these.");
  add_notes(draft.notes, flags.notes());
  add_notes(draft.notes, top.notes());
}

}  // namespace

Converter volcano_converter() {
  return {.plugin = OtherPlugin::kVolcano,
          .looked_for = "`flags` with `GPUStrategy` or `GPUMemoryFactor`",
          .convert = convert_volcano};
}

}  // namespace plughost
