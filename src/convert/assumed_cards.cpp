// What the plugins have in common that take a pod's card from its annotations.

#include "convert/converter.hpp"

namespace plughost {

YamlDraft api_server_draft() {
  YamlDraft api_server = YamlDraft::map();
  api_server.add("kubeconfig", YamlDraft::text("auto"));
  return api_server;
}

YamlDraft assumed_entry(std::string_view name, const std::string& memory, YamlDraft assume) {
  YamlDraft entry = YamlDraft::map();
  entry.add("name", YamlDraft::text(name));
  YamlDraft gpu = YamlDraft::map();
  gpu.add("vendor", YamlDraft::text("nvidia"));
  YamlDraft unit = YamlDraft::map();
  unit.flow = true;
  unit.add("memory", YamlDraft::word(memory));
  gpu.add("unit", std::move(unit));
  entry.add("gpu", std::move(gpu));
  assume.flow = true;
  assume.notes.emplace_back(
      "A container's pod is guessed from what it asks for, as theirs does. Where the container runtime knows "
      "CDI, `cdi: true` in the entry makes it certain: docs/gpu-memory.md.");
  entry.add("assume", std::move(assume));
  return entry;
}

YamlDraft node_resource_draft(std::string_view cards) {
  YamlDraft resources = YamlDraft::map();
  resources.flow = true;
  resources.add(std::string(cards), YamlDraft::text("{cards}"));
  return resources;
}

void add_assume_notes(ConfigDraft& draft) {
  draft.notes.emplace_back(
      "Each card has as many units as its own memory makes. Theirs counts the first card's size for all of "
      "them: where cards differ the node's total is another one.");
  draft.notes.emplace_back(
      "Ids are others than theirs: drain the node of pods that hold units before it is changed over, as "
      "docs/gpu-memory.md says.");
}

}  // namespace plughost
