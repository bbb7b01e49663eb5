// MicroShift: `genericDevicePlugin: {status, domain, devices}` in its configuration.

#include <utility>

#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"

namespace plughost {
namespace {

constexpr const char* kSection = "genericDevicePlugin";

void convert_microshift(const Node& root, Arguments&, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields section(*root.find(kSection), kSection, diagnostics);
  if (section.text("status").value_or("Disabled") != "Enabled")
    draft.notes.emplace_back("Its `status` is not Enabled: MicroShift does not serve these devices.");
  if (root.members.size() > 1) draft.notes.emplace_back("Only the section `genericDevicePlugin` was read.");
  draft.top.add("domain", YamlDraft::text(section.text("domain").value_or("device.microshift.io")));
  add_devices(section.items("devices"), section.path_of("devices"), draft, diagnostics);
  if (draft.resources.empty())
    draft.notes.emplace_back(
        "It has no `devices`; MicroShift has some by default, which `microshift show-config` prints.");
  for (std::string& note : section.notes()) draft.notes.push_back(std::move(note));
  add_device_notes(draft);
}

}  // namespace

Converter microshift_converter() {
  return {.plugin = OtherPlugin::kMicroShift,
          .looked_for = "a map `genericDevicePlugin`",
          .convert = convert_microshift};
}

}  // namespace plughost
