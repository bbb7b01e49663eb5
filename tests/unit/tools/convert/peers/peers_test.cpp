#include "tools/convert/peers/peers.hpp"

#include <doctest/doctest.h>

#include <set>

#include "places.hpp"
#include "unit/texts.hpp"

namespace plughost {
namespace {

using test::content;

// Returns the keys of the map that are not among those that the head of peers.yaml explains.
std::string unknown_keys(const Node& map, const std::set<std::string>& known) {
  std::string unknown;
  for (const auto& [key, value] : map.members)
    if (!known.contains(key.scalar)) unknown += key.scalar + ' ';
  return unknown;
}

TEST_CASE("each plugin that convert knows has a row, and the rows have only keys that are explained") {
  static const std::set<std::string> kOfPeers = {"plugin",    "images",  "programs",    "makers",   "flags",
                                                 "variables", "ignored", "withoutFile", "settings", "entry",
                                                 "top",       "remarks", "item",        "losses",   "charts"};
  static const std::set<std::string> kOfSettings = {"key",    "flag", "to",   "as", "fallback", "unless",
                                                    "values", "why",  "lost", "if", "absent"};
  static const std::set<std::string> kOfCharts = {"name",      "kind",      "group",  "container", "enabled",
                                                  "configMap", "flagsIn",   "labels", "values",    "keys",
                                                  "own",       "namespace", "note"};
  std::set<OtherPlugin> plugins;
  for (const Peer& peer : peers()) {
    CAPTURE(name_of(peer.plugin));
    CHECK(plugins.insert(peer.plugin).second);
    CHECK(unknown_keys(*peer.row, kOfPeers).empty());
    for (const Node& row : at(*peer.row, "settings").items) {
      CHECK(unknown_keys(row, kOfSettings).empty());
      CHECK((row.find("key") || row.find("flag")));
    }
    for (const Node& chart : at(*peer.row, "charts").items) {
      CHECK(unknown_keys(chart, kOfCharts).empty());
      for (const Node& value : at(chart, "values").items)
        CHECK(unknown_keys(value, {"path", "variable", "fallback", "ifTrue"}).empty());
    }
  }
  CHECK(plugins.size() == static_cast<std::size_t>(OtherPlugin::kVolcano) + 1);
}

TEST_CASE("the table on the page about adding a peer is that of peers.yaml") {
  const std::string page = content(test::in_source("/docs/adding-a-peer.md"));
  const std::size_t begin = page.find("```yaml\n") + 8;
  const std::string table = page.substr(begin, page.find("```", begin) - begin);
  CHECK(table.starts_with("- plugin: "));
  CHECK(content(test::in_source("/src/tools/convert/peers/peers.yaml")).find(table) != std::string::npos);
}

TEST_CASE("an image is a stranger's by the end of its path, and a program by its flag") {
  CHECK(stranger_of("registry.example/projecthami/hami", "") == "HAMi's device plugin");
  CHECK(stranger_of("", "device-split-count") == "HAMi's or Volcano's vGPU device plugin");
  CHECK(stranger_of("nvidia/k8s-device-plugin", "mig-strategy").empty());
  CHECK(stranger_of("", "").empty());
}

TEST_CASE("a path leads through maps, and to nothing if a key is missing") {
  const Node& intel = peer_of(OtherPlugin::kIntelGpu);
  CHECK(at_path(intel, "entry.gpu.vendor").scalar == "intel");
  CHECK(at_path(intel, "entry.gpu.driver").kind == Node::Kind::kNull);
  CHECK(&at_path(intel, "") == &intel);
}

}  // namespace
}  // namespace plughost
