// KubeVirt: `permittedHostDevices` of its own or the HyperConverged object.

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"
#include "device/template.hpp"

namespace plughost {
namespace {

constexpr const char* kPermitted = "permittedHostDevices";

// What virt-launcher looks for: only '/' and '.' are changed.
std::string kubevirt_variable(std::string_view resource) {
  std::string name = "PCI_RESOURCE_";
  for (const char c : resource) {
    const bool lower = c >= 'a' && c <= 'z';
    name += c == '/' || c == '.' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return Template::escape(name);
}

void refuse(YamlDraft& entry, const std::string& name, const char* why) {
  entry.disabled = true;
  entry.notes.push_back(name + " cannot be kept. " + why);
}

class Section {
 public:
  Section(const Node& node, ConfigDraft& draft, Diagnostics& diagnostics)
      : section_(node, kPermitted, diagnostics), draft_(draft), diagnostics_(diagnostics) {}

  void add_all() {
    for (std::size_t i = 0; const Node& item : section_.items("pciHostDevices"))
      add_pci(item, "pciHostDevices[" + std::to_string(i++) + ']');
    for (std::size_t i = 0; const Node& item : section_.items("mediatedDevices"))
      add_mediated(item, "mediatedDevices[" + std::to_string(i++) + ']');
    for (const char* key : {"usb", "usbHostDevices"}) {
      for (std::size_t i = 0; const Node& item : section_.items(key))
        add_usb(item, std::string(key) + '[' + std::to_string(i++) + ']');
    }
    add_notes(draft_.notes, section_.notes());
  }

 private:
  YamlDraft entry_of(LenientFields& item, std::string& name) {
    YamlDraft entry = YamlDraft::map();
    name = item.require_text("resourceName");
    entry.add("name", YamlDraft::text(Template::escape(name)));
    if (item.flag("disabled").value_or(false)) refuse(entry, name, "It is disabled.");
    if (item.flag("externalResourceProvider").value_or(false))
      entry.notes.emplace_back("`externalResourceProvider` is there: another plugin offers it now.");
    return entry;
  }

  void add_pci(const Node& node, const std::string& path) {
    LenientFields item(node, section_.path_of(path), diagnostics_);
    std::string name;
    YamlDraft entry = entry_of(item, name);
    const char* const key = item.node("pciVendorSelector") ? "pciVendorSelector" : "pciDeviceSelector";
    const std::string selector = item.require_text(key);
    const std::size_t colon = selector.find(':');
    const std::string vendor = hardware_id(selector.substr(0, colon));
    const std::string device = colon == std::string::npos ? "" : hardware_id(selector.substr(colon + 1));
    if (!selector.empty() && (vendor.empty() || device.empty()))
      item.error(*item.node(key), key,
                 quote(selector) + " is no vendor and device; they are as in 10de:2236");
    YamlDraft pci = YamlDraft::map();
    pci.add("vendors", YamlDraft::texts({vendor}));
    pci.add("devices", YamlDraft::texts({device}));
    pci.add("drivers", YamlDraft::texts({"vfio-pci"}));
    pci.add("nodes", YamlDraft::texts({"vfio"}));
    entry.add("pci", std::move(pci));
    YamlDraft env = YamlDraft::map();
    env.add(kubevirt_variable(name), YamlDraft::text("{pci}"));
    entry.add("env", std::move(env));
    add_notes(entry.notes, item.notes());
    draft_.resources.add(std::move(entry));
  }

  void add_mediated(const Node& node, const std::string& path) {
    LenientFields item(node, section_.path_of(path), diagnostics_);
    std::string name;
    entry_of(item, name);
    draft_.notes.push_back(name + " (" + quote(item.text("mdevNameSelector").value_or("")) +
                           ") is left out: mediated devices have no counterpart, and stay with KubeVirt.");
  }

  void add_usb(const Node& node, const std::string& path) {
    LenientFields item(node, section_.path_of(path), diagnostics_);
    std::string name;
    entry_of(item, name);
    item.items("selectors");
    draft_.notes.push_back(
        name +
        " is left out: KubeVirt tells a virtual machine the numbers of bus and device, which change with "
        "every replug and plughost does not give; it stays with KubeVirt.");
  }

  LenientFields section_;
  ConfigDraft& draft_;
  Diagnostics& diagnostics_;
};

void convert_kubevirt(const Node& root, Arguments&, ConfigDraft& draft, Diagnostics& diagnostics) {
  const Node* const section = root.find(kPermitted);
  Section(*section, draft, diagnostics).add_all();
  draft.notes.emplace_back(
      "KubeVirt needs `externalResourceProvider: true` at each of these, so that it does not offer them "
      "itself.");
  if (draft.resources.empty()) diagnostics.error(section->mark, kPermitted, "nothing in it can be kept");
}

}  // namespace

Converter kubevirt_converter() {
  return {.plugin = OtherPlugin::kKubeVirt,
          .looked_for = "a map `permittedHostDevices`",
          .convert = convert_kubevirt};
}

}  // namespace plughost
