// ROCm's k8s-device-plugin, which has flags only.

#include "convert/converter.hpp"

namespace plughost {
namespace {

void convert_rocm(const Node&, Arguments& arguments, ConfigDraft& draft, Diagnostics&) {
  for (const char* flag : {"v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  YamlDraft entry = YamlDraft::map();
  entry.add("name", YamlDraft::text("amd.com/gpu"));
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("amd"));
  entry.add("gpu", std::move(gpu));
  entry.add("allocationPolicy", YamlDraft::text("aligned"));
  draft.resources.add(std::move(entry));

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

}  // namespace

Converter rocm_converter() {
  return {.plugin = OtherPlugin::kRocm, .looked_for = {}, .convert = convert_rocm};
}

}  // namespace plughost
