// Intel's GPU plugin and ROCm's k8s-device-plugin, which are configured by flags only.

#include <utility>

#include "base/text/text.hpp"
#include "tools/convert/converters/converter.hpp"

namespace plughost {

void convert_intel_gpu(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* flag : {"v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  const std::string sharing = arguments.value("shared-dev-num").value_or("1");
  const auto replicas = number_in(sharing, kMostSharing);
  if (!replicas || *replicas == 0)
    diagnostics.error({.file = "--shared-dev-num"}, "",
                      quote(sharing) + " is not a number from 1 to " + std::to_string(kMostSharing));

  // The other plugin also names resources after the drivers, i915 and xe.
  YamlDraft& entry = draft.resources.add(gpu_entry("gpu.intel.com/{driver}", "intel"));
  if (replicas.value_or(1) > 1) entry.add("replicas", *replicas);
  const std::string policy = arguments.value("allocation-policy").value_or("none");
  const bool shared = replicas.value_or(1) > 1;
  if (policy == "packed" || policy == "balanced" || shared)
    entry.add("allocationPolicy", policy == "packed" ? "packed" : "distributed");
  if (policy != "packed" && policy != "balanced" && shared)
    draft.notes.push_back(
        "The policy `" + policy +
        "` gives a container shares of as many cards as it can; so does `distributed`, which takes the least "
        "used ones.");

  // Ids of PCI devices: "0x56c0,0x56c1".
  for (const auto& [flag, key] : {std::pair{"allow-ids", "only"}, std::pair{"deny-ids", "except"}}) {
    const std::vector<std::string> ids = words_between_commas(arguments.value(flag).value_or(""));
    std::vector<std::string> devices = hardware_ids(ids, Node{.mark = {.file = flag}}, "", diagnostics);
    if (!devices.empty()) entry.add(key, YamlDraft::flow_map({{"device", std::move(devices)}}));
  }

  for (const char* flag : {"monitoring-mode", "health-management", "bypath", "prefix", "xpumd-endpoint",
                           "temp-limit", "gpu-temp-limit", "memory-temp-limit"})
    arguments.value(flag);
  if (arguments.truth("wsl").value_or(false))
    draft.notes.push_back(loss("`-wsl`: gpu.intel.com/dxg has no counterpart."));
  for (const char* flag : {"enable-monitoring", "enable_monitoring"}) {
    if (arguments.truth(flag).value_or(false))
      draft.notes.push_back(
          loss("The resources i915_monitoring and xe_monitoring, which stand for all cards at once, have no "
               "counterpart."));
  }
  if (arguments.truth("resource-manager").value_or(false))
    draft.notes.push_back(loss("Fractional resources (--resource-manager) have no counterpart."));
  draft.notes.emplace_back(
      "Ids are PCI addresses in place of card0-0. The links in /dev/dri/by-path are not mounted.");
}

void convert_rocm(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  for (const char* flag : {"v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  draft.resources.add(gpu_entry("amd.com/gpu", "amd")).add("allocationPolicy", "aligned");

  if (arguments.value("pulse"))
    draft.notes.emplace_back("`--pulse` is not needed: a card's health is looked at all the time.");
  if (arguments.value("resource_naming_strategy").value_or("single") == "mixed")
    draft.notes.push_back(
        loss("`--resource_naming_strategy=mixed` has no counterpart: parts of a card are amd.com/gpu, as "
             "cards are."));
  if (const auto count = arguments.variable("AMD_GPU_DEVICE_COUNT"))
    draft.notes.push_back(
        loss("AMD_GPU_DEVICE_COUNT is " + quote(*count) +
             ", and left out: `only` says which cards are meant, as in `only: {pci: \"0000:03:*\"}`."));
}

}  // namespace plughost
