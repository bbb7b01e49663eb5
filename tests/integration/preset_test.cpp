// Checks plughost preset, from the command line to the daemon's resources.

#include <doctest/doctest.h>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

Finished preset(const Node& node, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "preset");
  arguments.insert(arguments.end(), {"--config", node.configuration(), "--presets", node.path("presets")});
  return run_plughost(arguments);
}

// Adds a preset that finds a device, one that finds none, and one whose devices are configured.
void add_presets(const Node& node) {
  const auto add = [&](const std::string& name, const std::string& words, const std::string& keys) {
    node.files().file("presets/" + name + ".yaml",
                      "# " + words + "\nresources:\n- {name: example.com/" + name + ", " + keys + "}\n");
  };
  node.files().file("gophers/amy");
  add("gopher", "Gophers", "directory: {path: " + node.path("gophers") + "}");
  add("mole", "Moles", "directory: {path: " + node.path("moles") + "}");
  add("token", "Tokens", "count: 2");
}

}  // namespace

TEST_CASE(
    "an enabled preset is served after a reload, and its resource is removed when the preset is disabled") {
  Node node;
  node.configure(counted("example.com/a", 1));
  add_presets(node);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/a"}));
  const Finished enabled = preset(node, {"enable", "gopher"});
  CHECK(enabled.exit_code == 0);
  CHECK(has(enabled, "enabled: gopher; run `plughost reload` to apply it"));
  CHECK(has(preset(node, {"enable", "gopher"}), "nothing to do: gopher is enabled already"));
  REQUIRE(node.reload());
  CHECK(node.healthy(kGopher, "amy"));
  CHECK(has(preset(node, {"list"}), "gopher  yes      Gophers"));
  CHECK(has(preset(node, {"disable", "gopher"}), "disabled: gopher;"));
  REQUIRE(node.reload());
  CHECK(node.count(kGopher, 0));
}
