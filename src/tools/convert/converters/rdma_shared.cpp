// k8s-rdma-shared-dev-plugin: `configList`.

#include <algorithm>
#include <utility>

#include "tools/convert/converters/converter.hpp"

namespace plughost {
namespace {

void add_texts(YamlDraft& to, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) to.add(key, texts);
}

YamlDraft selectors_of(LenientFields& entry, Diagnostics& diagnostics) {
  const Node* const node = entry.node("selectors");
  LenientFields selectors(or_nothing(node), entry.path_of("selectors"), diagnostics);
  const auto ids = [&](const char* key) {
    const Node* const at = selectors.node(key);
    return hardware_ids(selectors.texts(key), or_nothing(at), selectors.path_of(key), diagnostics);
  };
  YamlDraft draft = YamlDraft::map();
  add_texts(draft, "vendors", ids("vendors"));
  add_texts(draft, "deviceIDs", ids("deviceIDs"));
  add_texts(draft, "drivers", selectors.texts("drivers"));
  std::vector<std::string> names = selectors.texts("ifNames");
  std::ranges::move(entry.texts("devices"), std::back_inserter(names));
  add_texts(draft, "ifNames", names);
  add_texts(draft, "linkTypes", selectors.texts("linkTypes"));
  add_notes(draft.notes, selectors.notes());
  return draft;
}

void convert_entry(const Node& node, const std::string& path, ConfigDraft& draft, Diagnostics& diagnostics) {
  LenientFields theirs(node, path, diagnostics);
  const std::string name = theirs.require_text("resourceName");
  const unsigned count = theirs.number("rdmaHcaMax").value_or(0);
  YamlDraft selectors = selectors_of(theirs, diagnostics);

  YamlDraft& entry = draft.resources.add(
      YamlDraft::map({{"name", literal_name(theirs.text("resourcePrefix").value_or("rdma"), name)}}));
  if (selectors.empty()) {
    entry.disabled = true;
    entry.notes.push_back(doubt("It has neither selectors nor devices, and theirs refuses it."));
    entry.notes.emplace_back("Without selectors this would be every card:");
  }
  if (count == 0) {
    entry.disabled = true;
    entry.notes.push_back(doubt("`rdmaHcaMax` is missing or 0, and theirs offers none."));
    entry.notes.emplace_back("For one container:");
  }
  YamlDraft& rdma = entry.add("rdma", YamlDraft::map());
  if (!selectors.empty()) rdma.add("selectors", std::move(selectors));
  rdma.add("portState", "ignore");
  rdma.add("pool", true);
  rdma.add("permissions", "rwm");
  if (count > 1) entry.add("replicas", sharing_draft(count));
  add_notes(entry.notes, theirs.notes());
}

}  // namespace

void convert_rdma_shared(const Node& root, Arguments& arguments, ConfigDraft& draft,
                         Diagnostics& diagnostics) {
  for (const char* flag : {"config-file", "v", "logtostderr", "stderrthreshold"}) arguments.value(flag);
  LenientFields top(root, "", diagnostics);
  if (top.node("periodicUpdateInterval"))
    draft.notes.emplace_back(
        "`periodicUpdateInterval` is not needed: cards that come and go are seen at once.");
  if (const auto root_dir = top.text("kubeletRootDir"); root_dir && root_dir->starts_with('/'))
    draft.top.add("kubelet", YamlDraft::map({{"directory", *root_dir + (root_dir->ends_with('/') ? "" : "/") +
                                                               "device-plugins"}}));
  if (arguments.truth("use-cdi").value_or(false))
    draft.notes.emplace_back("--use-cdi: the nodes are given directly here, not by a CDI name.");
  for (std::size_t i = 0; const Node& entry : top.items("configList"))
    convert_entry(entry, "configList[" + std::to_string(i++) + ']', draft, diagnostics);
  add_notes(draft.notes, top.notes());
  draft.notes.emplace_back(
      "`portState: ignore` offers cards whatever their links are; with `any` they are Unhealthy while all "
      "ports are down. Cards without umad or issm nodes, which theirs leaves out, are taken: `linkTypes: "
      "[infiniband]` is for those that have them. The kubelet is told the NUMA nodes of the cards.");
  draft.notes.emplace_back("`permissions: rwm` is what theirs gave; `rw` is enough.");
}

}  // namespace plughost
