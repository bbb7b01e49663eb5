// Intel's GPU plugin, which has flags only.

#include <string>

#include "base/text.hpp"
#include "convert/converter.hpp"

namespace plughost {
namespace {

std::string policy_of(const std::string& theirs) {
  if (theirs == "balanced") return "distributed";
  return theirs == "packed" ? "packed" : "none";
}

void convert_intel_gpu(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* flag : {"v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  const std::string sharing = arguments.value("shared-dev-num").value_or("1");
  const auto replicas = number_in(sharing, kMostSharing);
  if (!replicas || *replicas == 0)
    diagnostics.error({.file = "--shared-dev-num"}, "",
                      quote(sharing) + " is no number from 1 to " + std::to_string(kMostSharing));

  YamlDraft entry = YamlDraft::map();
  // i915 and xe are names of theirs, too.
  entry.add("name", YamlDraft::text("gpu.intel.com/{driver}"));
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("intel"));
  entry.add("gpu", std::move(gpu));
  if (replicas.value_or(1) > 1) entry.add("replicas", YamlDraft::number(*replicas));
  const std::string policy = arguments.value("allocation-policy").value_or("none");
  if (policy_of(policy) != "none") entry.add("allocationPolicy", YamlDraft::text(policy_of(policy)));
  draft.resources.add(std::move(entry));

  for (const char* flag : {"enable-monitoring", "enable_monitoring"}) {
    if (arguments.truth(flag).value_or(false))
      draft.notes.emplace_back(
          "The resources i915_monitoring and xe_monitoring, which stand for all cards at once, have no "
          "counterpart.");
  }
  if (arguments.truth("resource-manager").value_or(false))
    draft.notes.emplace_back("Fractional resources (--resource-manager) have no counterpart.");
  draft.notes.emplace_back(
      "Ids are PCI addresses in place of card0-0. The links in /dev/dri/by-path are not mounted.");
}

}  // namespace

Converter intel_gpu_converter() {
  return {.plugin = OtherPlugin::kIntelGpu, .looked_for = {}, .convert = convert_intel_gpu};
}

}  // namespace plughost
