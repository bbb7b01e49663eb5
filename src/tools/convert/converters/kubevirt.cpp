// KubeVirt: `permittedHostDevices` of the KubeVirt or the HyperConverged object.

#include <algorithm>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/template.hpp"
#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kPermitted = "permittedHostDevices";

// Returns the variable that virt-launcher reads: only '/' and '.' are replaced.
std::string kubevirt_variable(std::string resource) {
  std::ranges::transform(resource, resource.begin(),
                         [](char c) { return c == '/' || c == '.' ? '_' : to_upper(c); });
  return Template::escape("PCI_RESOURCE_" + resource);
}

YamlDraft entry_of(LenientFields& item, const std::string& name) {
  YamlDraft entry = YamlDraft::map({{"name", Template::escape(name)}});
  entry.origins = {item.origin()};
  entry.disabled = item.flag("disabled").value_or(false);
  if (entry.disabled) entry.notes.push_back(name + " cannot be kept. It is disabled.");
  if (item.flag("externalResourceProvider").value_or(false))
    entry.notes.emplace_back("`externalResourceProvider` is there: another plugin offers it now.");
  return entry;
}

void add_pci(LenientFields& item, const std::string& name, YamlDraft& entry, ConfigDraft& draft) {
  const char* const key = item.node("pciVendorSelector") ? "pciVendorSelector" : "pciDeviceSelector";
  const std::string selector = item.require_text(key);
  const std::size_t colon = selector.find(':');
  const std::string vendor = hardware_id(selector.substr(0, colon));
  const std::string device = colon == std::string::npos ? "" : hardware_id(selector.substr(colon + 1));
  if (!selector.empty() && (vendor.empty() || device.empty()))
    item.error(*item.node(key), key, quote(selector) + " is not a vendor and device such as 10de:2236");
  entry.add("pci", YamlDraft::map({{"vendors", Texts{vendor}},
                                   {"devices", Texts{device}},
                                   {"drivers", Texts{"vfio-pci"}},
                                   {"nodes", Texts{"vfio"}}}));
  entry.add("env", YamlDraft::map({{kubevirt_variable(name), "{pci}"}}));
  add_notes(entry.notes, item.notes());
  draft.resources.add(std::move(entry));
}

void add_mediated(LenientFields& item, const std::string& name, YamlDraft&, ConfigDraft& draft) {
  draft.notes.push_back(loss(name + " (" + quote(item.text("mdevNameSelector").value_or("")) +
                             ") is left out: mediated devices have no counterpart, and stay with KubeVirt."));
}

void add_usb(LenientFields& item, const std::string& name, YamlDraft&, ConfigDraft& draft) {
  item.items("selectors");
  draft.notes.push_back(
      loss(name +
           " is left out: KubeVirt tells a virtual machine the numbers of bus and device, which change with "
           "every replug and plughost does not give; it stays with KubeVirt."));
}

struct List {
  const char* key;
  void (*add)(LenientFields& item, const std::string& name, YamlDraft& entry, ConfigDraft& draft);
};
constexpr List kLists[] = {{"pciHostDevices", add_pci},
                           {"mediatedDevices", add_mediated},
                           {"usb", add_usb},
                           {"usbHostDevices", add_usb}};

}  // namespace

void convert_kubevirt(const Node& root, Arguments&, ConfigDraft& draft, Reading& diagnostics) {
  draft.names_join = true;
  LenientFields section(*root.find(kPermitted), kPermitted, diagnostics);
  for (const List& list : kLists) {
    for (std::size_t i = 0; const Node& node : section.items(list.key)) {
      LenientFields item(node, section.path_of(list.key) + '[' + std::to_string(i++) + ']', diagnostics);
      const std::string name = item.require_text("resourceName");
      YamlDraft entry = entry_of(item, name);
      list.add(item, name, entry, draft);
      if (list.add != add_pci) diagnostics.record(node, "left out: it stays with KubeVirt");
    }
  }
  add_notes(draft.notes, section.notes());
  if (!draft.resources.empty())
    draft.notes.emplace_back(
        "KubeVirt needs `externalResourceProvider: true` at each of these, so that it does not offer them "
        "itself.");
  // An error would drop the notes that say why no item can be kept.
  else if (draft.notes.empty())
    diagnostics.error(root.find(kPermitted)->mark, kPermitted, "there is no device in it");
}

}  // namespace plughost
