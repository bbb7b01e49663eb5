#pragma once
// The made nodes of tests/machines. Not thread-safe.

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "host/host_root.hpp"
#include "host/nvml_view.hpp"
#include "host/recorded_machine.hpp"

namespace plughost::test {

inline RecordedTree::File file_of(const nlohmann::json& json) {
  RecordedTree::File file;
  if (json.is_string()) {
    file.type = FileType::kRegular;
    file.text = json.get<std::string>();
  } else if (json.is_array()) {
    const std::string what = json[0];
    file.type = what == "link"    ? FileType::kLink
                : what == "char"  ? FileType::kCharacter
                : what == "block" ? FileType::kBlock
                                  : FileType::kRegular;
    if (json.size() > 1) file.text = json[1].get<std::string>();
  } else {
    for (const auto& [name, each] : json.items()) file.make(name) = file_of(each);
  }
  return file;
}

inline void read_unit(const nlohmann::json& json, NvmlView::Unit& unit) {
  unit = {.uuid = json["uuid"],
          .name = json["name"],
          .index = json["index"],
          .pci = json["pci"],
          .profile = json.value("profile", ""),
          .minor = json["minor"].get<unsigned>(),
          .memory = json["memory"],
          .nodes = json["nodes"],
          .bonds = {}};
  for (const auto& bond : json["bonds"]) unit.bonds.push_back({.pci = bond["pci"], .score = bond["score"]});
}

inline std::map<std::string, HostRoot> made_machines() {
  std::map<std::string, HostRoot> machines;
  for (const auto& entry : std::filesystem::directory_iterator(PLUGHOST_SOURCE_DIR "/tests/machines")) {
    if (entry.path().extension() != ".json") continue;
    const auto json = nlohmann::json::parse(std::ifstream(entry.path()));
    auto machine = std::make_shared<RecordedMachine>();
    machine->node = json["node"];
    machine->tree.root() = file_of(json["tree"]);
    machine->nvml.trouble = json.value("nvmlTrouble", json.contains("nvml") ? "" : "no library");
    if (json.contains("nvml")) {
      for (const auto& each : json["nvml"]["cards"]) {
        NvmlView::Card card;
        read_unit(each, card);
        card.mig_enabled = each["migEnabled"];
        for (const auto& part : each["parts"]) read_unit(part, card.parts.emplace_back());
        machine->nvml.cards.push_back(card);
      }
    }
    machines.emplace(entry.path().stem(), HostRoot(std::shared_ptr<const RecordedMachine>(machine)));
  }
  return machines;
}

}  // namespace plughost::test
