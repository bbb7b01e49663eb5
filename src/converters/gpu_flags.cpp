// Intel's GPU plugin and ROCm's k8s-device-plugin, which have flags only.

#include "converters/converter.hpp"
#include "text/text.hpp"

namespace plughost {
namespace {

std::string policy_of(const std::string& theirs) {
  if (theirs == "balanced") return "distributed";
  return theirs == "packed" ? "packed" : "none";
}

}  // namespace

void convert_intel_gpu(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* flag : {"v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  const std::string sharing = arguments.value("shared-dev-num").value_or("1");
  const auto replicas = number_in(sharing, kMostSharing);
  if (!replicas || *replicas == 0)
    diagnostics.error({.file = "--shared-dev-num"}, "",
                      quote(sharing) + " is no number from 1 to " + std::to_string(kMostSharing));

  // i915 and xe are names of theirs, too.
  YamlDraft& entry = draft.resources.add(gpu_entry("gpu.intel.com/{driver}", "intel"));
  if (replicas.value_or(1) > 1) entry.add("replicas", *replicas);
  const std::string policy = arguments.value("allocation-policy").value_or("none");
  if (policy_of(policy) != "none") entry.add("allocationPolicy", policy_of(policy));

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

void convert_rocm(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  for (const char* flag : {"v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  draft.resources.add(gpu_entry("amd.com/gpu", "amd")).add("allocationPolicy", "aligned");

  if (arguments.value("pulse"))
    draft.notes.emplace_back("`--pulse` is not needed: a card's health is looked at all the time.");
  if (arguments.value("resource_naming_strategy").value_or("single") == "mixed")
    draft.notes.emplace_back(
        "`--resource_naming_strategy=mixed` has no counterpart: parts of a card are amd.com/gpu, as cards "
        "are.");
  if (const auto count = arguments.variable("AMD_GPU_DEVICE_COUNT"))
    draft.notes.push_back(
        "AMD_GPU_DEVICE_COUNT is " + quote(*count) +
        ", and left out: `only` says which cards are meant, as in `only: {pci: \"0000:03:*\"}`.");
}

}  // namespace plughost
