// k8s-rdma-shared-dev-plugin: `configList`.

#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

void convert_item(const Node& node, const std::string& path, ConfigDraft& draft, Reading& diagnostics) {
  Arguments none({}, "", diagnostics);
  PeerSettings theirs(at(peer_of(OtherPlugin::kRdmaShared), "item"), node, path, none, diagnostics);
  YamlDraft& entry = theirs.write(draft);
  LenientFields& fields = theirs.map("");
  const std::string prefix = fields.text("resourcePrefix").value_or("rdma");
  *entry.find("name") = literal_name(prefix, fields.require_text("resourceName"));
  entry.origins = {fields.origin()};
  if (!entry.find("rdma")->find("selectors")) {
    entry.disabled = true;
    entry.notes.push_back(doubt("It has neither selectors nor devices, and theirs refuses it."));
    entry.notes.emplace_back("Without selectors this would be every card:");
  }
  const unsigned count = fields.number("rdmaHcaMax").value_or(0);
  if (count == 0) {
    entry.disabled = true;
    entry.notes.push_back(doubt("`rdmaHcaMax` is missing or 0, and theirs offers none."));
    entry.notes.emplace_back("For one container:");
  }
  if (count > 1) entry.add("replicas", sharing_draft(count));
  theirs.finish(entry.notes);
}

}  // namespace

void convert_rdma_shared(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics) {
  PeerSettings settings(OtherPlugin::kRdmaShared, root, arguments, diagnostics);
  if (const auto directory = settings.text("kubeletRootDir"); directory && directory->starts_with('/'))
    draft.top.add("kubelet",
                  YamlDraft::map({{"directory",
                                   *directory + (directory->ends_with('/') ? "" : "/") + "device-plugins"}}));
  for (std::size_t i = 0; const Node& item : settings.map("").items("configList"))
    convert_item(item, "configList[" + std::to_string(i++) + ']', draft, diagnostics);
  settings.finish(draft.notes);
}

}  // namespace plughost
