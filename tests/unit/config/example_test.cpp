// Checks config.example.yaml, the drop-ins, docs/configuration.md and the examples of other pages against the
// program.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>

#include "config/config.hpp"
#include "config/presets.hpp"
#include "config/schema.hpp"
#include "places.hpp"
#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"

namespace plughost {
namespace {

using test::content;

namespace fs = std::filesystem;

const fs::path kSource = test::in_source("");
const fs::path kPresets = test::in_source("/plugins.d");

// Returns the parts of `text` between a mark `before` and the next mark `after`.
std::vector<std::string> between(const std::string& text, const std::string& before,
                                 const std::string& after) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    const std::size_t end = text.find(after, at);
    if (end == std::string::npos) break;
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

// Adds the keys that the schema describes, without the attributes of devices, by which entries choose.
void add_keys(const Json& schema, std::set<std::string>& keys) {
  for (const auto& [key, value] : schema["properties"].object()) {
    keys.insert(key);
    if (key != "only" && key != "except") add_keys(value, keys);
  }
  for (const Json& alternative : schema["anyOf"].array()) add_keys(alternative, keys);
  if (!schema["items"].is_null()) add_keys(schema["items"], keys);
}

// Returns every key that the program knows.
std::set<std::string> known_keys() {
  std::set<std::string> keys;
  add_keys(config_schema(), keys);
  return keys;
}

// Returns a main file's text with /etc/plughost/plugins.d replaced by `links`.
std::string with_links_in(const fs::path& links, std::string text) {
  constexpr std::string_view kLinks = "/etc/plughost/plugins.d";
  const std::size_t at = text.find(kLinks);
  if (at != std::string::npos) text.replace(at, kLinks.size(), links.string());
  return text;
}

std::string lines(std::span<const Diagnostic> diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n") + diagnostic.text();
  return text;
}

// Runs `act`, and returns the errors of its ConfigError, one per line; empty if it succeeds.
template <class Act>
std::string errors(Act act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return lines(error.diagnostics);
  }
  return "";
}

// Returns the errors of a main file and everything that it includes, or else the warnings.
std::string remarks(const fs::path& main) {
  std::string warnings;
  const std::string found = errors([&] { warnings = lines(load_config(main).warnings); });
  return found.empty() ? warnings : found;
}

// A temporary copy of a node's /etc/plughost, with a main file and links to presets.
class ConfiguredNode {
 public:
  explicit ConfiguredNode(const fs::path& main) {
    dir_.file("config.yaml", with_links_in(dir_.at("plugins.d"), content(main)));
  }

  fs::path main() const { return dir_.at("config.yaml"); }
  fs::path link_of(const std::string& preset) const { return dir_.at("plugins.d/" + preset + ".yaml"); }
  // Creates the link that `plughost preset enable` creates, even if the configuration then has errors.
  void link(const std::string& preset) const {
    dir_.link("plugins.d/" + preset + ".yaml", kPresets / (preset + ".yaml"));
  }
  void unlink(const std::string& preset) const { fs::remove(link_of(preset)); }
  Presets presets() const { return {kPresets, main()}; }

 private:
  test::TempDir dir_;
};

// A preset that offers cards by a variable. kOfCards has these presets in the order in which files are read.
struct CardPreset {
  std::string name;
  int line;  // line at which the preset's entry begins
  std::string variable = "NVIDIA_VISIBLE_DEVICES";
};
const std::vector<CardPreset> kOfCards{{"gpu-memory", 4},
                                       {"iluvatar-gpu", 4, "IX_VISIBLE_DEVICES"},
                                       {"nvidia-gpu-shared", 4},
                                       {"nvidia-gpu", 4},
                                       {"nvidia-mig", 5}};

std::set<std::string> other_presets() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kPresets)) names.insert(entry.path().stem());
  for (const CardPreset& preset : kOfCards) CHECK(names.erase(preset.name) == 1);
  return names;
}

std::string command(const std::string& preset) { return " (`plughost preset disable " + preset + "`)"; }

// Returns the error that two entries offer the same cards, for the preset's entry and a different one.
std::string contradiction(const CardPreset& preset, const fs::path& file, const std::string& disable,
                          const std::string& other, const std::string& disable_other) {
  return file.string() + ':' + std::to_string(preset.line + 1) +
         ":8: resources[0].gpu: its devices and those of " + other +
         " are the same cards, and each sets the variable '" + preset.variable +
         "', of which a container with devices of both gets one value; leave out this entry" + disable +
         " or the other" + disable_other +
         ", or join both by `near` and `sameCard: true`, or separate the cards by `only`, or set the "
         "variable in `env`";
}

TEST_CASE("each YAML file of a checkout's top level and plugins.d is loaded, without a warning") {
  const test::TempDir checkout;
  checkout.link("plugins.d", kPresets);  // so that the example finds all presets in its plugins.d
  unsigned files = 0;
  for (const fs::path& folder : {kSource, kPresets}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const fs::path file = fs::relative(entry.path(), kSource);
      CAPTURE(file);
      if (folder == kSource) checkout.file(file, with_links_in(checkout.at("links"), content(entry.path())));
      CHECK(remarks(checkout.at(file)) == "");
      ++files;
    }
  }
  CHECK(files > 45);
}

TEST_CASE("the example is loaded with each preset, unless that preset offers the example's cards") {
  const ConfiguredNode node(kSource / "config.example.yaml");
  for (const std::string& preset : other_presets()) {
    CAPTURE(preset);
    node.link(preset);
    CHECK(load_config(node.main()).files.paths == std::vector{node.main(), node.link_of(preset)});
    CHECK(remarks(node.main()) == "");
    node.unlink(preset);
  }
  const std::vector<ResourceConfig> entries = load_config(node.main()).resources;
  const auto gpu = std::ranges::find(entries, "example.com/{type}",
                                     [](const auto& entry) { return entry.spec->name.text(); });
  REQUIRE(gpu != entries.end());
  const std::string own = "resources[" + std::to_string(gpu - entries.begin()) + "] (" + gpu->where + ')';
  for (const CardPreset& preset : kOfCards) {
    CAPTURE(preset.name);
    node.link(preset.name);
    CHECK(remarks(node.main()) ==
          contradiction(preset, node.link_of(preset.name), command(preset.name), own, ""));
    node.unlink(preset.name);
  }
}

TEST_CASE("all presets are loaded together if only one of those for NVIDIA's cards is included") {
  const ConfiguredNode node(kSource / "packaging" / "config.yaml");
  const std::set<std::string> others = other_presets();
  for (const std::string& preset : others) node.link(preset);
  node.link("iluvatar-gpu");
  for (const CardPreset& preset : kOfCards) {
    if (preset.name == "iluvatar-gpu") continue;
    CAPTURE(preset.name);
    node.link(preset.name);
    // The three further files: the main file, iluvatar-gpu and this preset.
    CHECK(load_config(node.main()).files.paths.size() == others.size() + 3);
    CHECK(remarks(node.main()) == "");
    node.unlink(preset.name);
  }
}

// Checks the error about two presets. `first` must be read before `second`.
void check_contradiction(const CardPreset& first, const CardPreset& second) {
  CAPTURE(first.name);
  CAPTURE(second.name);
  const ConfiguredNode node(kSource / "packaging" / "config.yaml");
  node.link(first.name);
  const std::string other =
      "resources[0] (" + node.link_of(first.name).string() + ':' + std::to_string(first.line) + ":3)";
  // At this time `second` is not linked.
  CHECK(errors([&] { node.presets().enable(std::vector{second.name}); }) ==
        contradiction(second, kPresets / (second.name + ".yaml"), "", other, command(first.name)));
  node.link(second.name);
  CHECK(remarks(node.main()) ==
        contradiction(second, node.link_of(second.name), command(second.name), other, command(first.name)));
  node.presets().disable(std::vector{first.name});
  CHECK(remarks(node.main()) == "");
}

TEST_CASE(
    "one error names the two presets that offer the same cards, the reason, and how to disable either") {
  unsigned pairs = 0;
  for (auto first = kOfCards.begin(); first != kOfCards.end(); ++first) {
    for (auto second = std::next(first); second != kOfCards.end(); ++second) {
      if (first->variable != second->variable) continue;
      check_contradiction(*first, *second);
      ++pairs;
    }
  }
  CHECK(pairs == 6);
}

TEST_CASE("an error names no command for a file that `plughost preset enable` has not linked") {
  const std::string text = content(kPresets / "nvidia-gpu.yaml");
  const test::TempDir dir;
  dir.file("config.yaml", content(kPresets / "gpu-memory.yaml"));
  const auto refused = [&] {
    const std::string found = errors([&] { load_config(dir.at("config.yaml")); });
    CHECK(found.find("; leave out this entry or the other, or join") != std::string::npos);
  };
  dir.file("plugins.d/nvidia-gpu.yaml", text);
  refused();
  dir.remove("plugins.d/nvidia-gpu.yaml");
  dir.file("data/nvidia-gpu.yaml", text);
  dir.link("plugins.d/nvidia-gpu.yaml", "../data/nvidia-gpu.yaml");  // as in a ConfigMap's volume
  refused();
  dir.remove("plugins.d/nvidia-gpu.yaml");
  dir.link("plugins.d/mine.yaml", dir.at("data/nvidia-gpu.yaml"));
  refused();
}

TEST_CASE("the example has every key, and the manual explains it") {
  const std::set<std::string> keys = known_keys();
  const std::string example = content(kSource / "config.example.yaml");
  const std::string manual = content(kSource / "docs" / "configuration.md");
  REQUIRE(keys.size() >= 25);
  for (const std::string& key : keys) {
    CAPTURE(key);
    CHECK(example.find(key + ':') != std::string::npos);
    const bool has_row = manual.find("| `" + key + "` |") != std::string::npos;
    const bool is_shown = manual.find('{' + key + ": ") != std::string::npos;  // as in `watch: {confirm: 5m}`
    CHECK((has_row || is_shown));
  }
}

TEST_CASE("the manual explains no invalid key") {
  const std::set<std::string> keys = known_keys();
  const std::string manual = content(kSource / "docs" / "configuration.md");
  const std::vector<std::string> rows = between(manual, "\n| `", "` |");
  CHECK(rows.size() >= 25);
  for (const std::string& key : rows) {
    CAPTURE(key);
    const bool is_word =
        key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == std::string::npos;
    if (is_word) CHECK(keys.contains(key));
  }
}

TEST_CASE("the examples of the pages about the configuration and of README are valid") {
  std::string pages = content(kSource / "README.md");
  for (const char* const page :
       {"api-server.md", "cdi.md", "configuration.md", "devices.md", "exec.md", "gpu.md", "gpu-memory.md"})
    pages += content(kSource / "docs" / page);
  const std::vector<std::string> examples = between(pages, "```yaml\n", "```");
  CHECK(examples.size() >= 20);
  for (const std::string& example : examples) {
    const test::TempDir dir;
    dir.file("a.yaml", example);
    CAPTURE(example);
    CHECK_NOTHROW(load_config(dir.at("a.yaml")));
  }
}

}  // namespace
}  // namespace plughost
