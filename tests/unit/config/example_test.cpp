// config.example.yaml, the drop-ins and docs/configuration.md keep up with what the program takes.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "config/config.hpp"
#include "places.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = test::in_source("");

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The pieces of the text that stand between the two marks.
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

// Every key that the program knows, as it says when it is asked for one that it does not know.
std::set<std::string> known_keys() {
  const test::TempDir dir;
  dir.file("a.yaml", R"(
qqqqqqqq: 1
kubelet: {qqqqqqqq: 1}
log: {qqqqqqqq: 1}
cdi: {qqqqqqqq: 1}
labels: {qqqqqqqq: 1}
apiServer: {qqqqqqqq: 1}
metrics: {qqqqqqqq: 1}
include: []
resources:
- name: example.com/a
  qqqqqqqq: 1
  when: {qqqqqqqq: 1, dmi: {qqqqqqqq: 1}}
  health: {exec: [/a], qqqqqqqq: 1}
  preStart: {exec: [/a], qqqqqqqq: 1}
  allocate: {exec: [/a], qqqqqqqq: 1}
  onRemove: {exec: [/a], qqqqqqqq: 1}
  whenUnhealthy: {exec: [/a], qqqqqqqq: 1}
  directory: {path: /a, qqqqqqqq: 1}
  mounts: [{hostPath: /a, qqqqqqqq: 1}]
  nodes: [{hostPath: /a, qqqqqqqq: 1}]
- name: example.com/b
  groups: [{qqqqqqqq: 1, paths: [{path: /a, qqqqqqqq: 1}], usb: [{vendor: 1a86, qqqqqqqq: 1}]}]
- name: example.com/c
  udev: {subsystem: tty, qqqqqqqq: 1}
- name: example.com/d
  rdma: {qqqqqqqq: 1, selectors: {qqqqqqqq: 1}}
- name: example.com/e
  pci: {vendors: [15b3], qqqqqqqq: 1}
- name: example.com/f
  exec: {discover: /a, qqqqqqqq: 1, triggers: {qqqqqqqq: 1}}
- name: example.com/g
  gpu: {qqqqqqqq: 1, unit: {memory: 1GiB, qqqqqqqq: 1}}
- name: example.com/h
  gpu: {unit: {memory: 1GiB}}
  assume: {dialect: doslab, qqqqqqqq: 1}
  qqqqqqqq: 1
)");
  std::set<std::string> keys;
  try {
    load_config(dir.at("a.yaml"));
  } catch (const ConfigError& error) {
    CHECK(error.diagnostics.size() == 31);
    for (const Diagnostic& diagnostic : error.diagnostics) {
      const std::string list = diagnostic.what.substr(diagnostic.what.find("known here: ") + 11) + ',';
      for (std::string& key : between(list, " ", ",")) keys.insert(std::move(key));
    }
  }
  return keys;
}

TEST_CASE("the example is loaded together with the drop-ins beside it, without a warning") {
  const test::TempDir dir;
  dir.file("config.yaml", content(kSource / "config.example.yaml"));
  for (const auto& entry : fs::directory_iterator(kSource / "plugins.d")) {
    // Those of the cards that the example offers itself are in place of its entries.
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("nvidia-") && !name.starts_with("iluvatar-") && !name.starts_with("gpu-memory"))
      dir.file("plugins.d/" + name, content(entry.path()));
  }
  const Config config = load_config(dir.at("config.yaml"));
  CHECK(config.warnings.empty());
  std::set<fs::path> read(config.files.paths.begin(), config.files.paths.end());
  for (const char* name : {"kvm", "fuse", "tun", "gopher", "count", "loop", "amd-gpu"}) {
    CAPTURE(name);
    CHECK(read.contains(dir.at("plugins.d") / (std::string(name) + ".yaml")));
  }
}

TEST_CASE("a drop-in over cards that another one offers is refused") {
  const test::TempDir dir;
  dir.file("config.yaml", content(kSource / "plugins.d" / "nvidia-gpu.yaml"));
  dir.file("plugins.d/mig.yaml", content(kSource / "plugins.d" / "nvidia-mig.yaml"));
  CHECK_THROWS_AS(load_config(dir.at("config.yaml")), ConfigError);
  dir.file("plugins.d/mig.yaml", content(kSource / "plugins.d" / "amd-gpu.yaml"));
  CHECK_NOTHROW(load_config(dir.at("config.yaml")));
}

TEST_CASE("each drop-in is a configuration by itself") {
  for (const auto& entry : fs::directory_iterator(kSource / "plugins.d")) {
    CAPTURE(entry.path().filename().string());
    CHECK_NOTHROW(load_config(entry.path()));
  }
}

TEST_CASE("the example shows every key, and the manual explains it") {
  const std::set<std::string> keys = known_keys();
  const std::string example = content(kSource / "config.example.yaml");
  const std::string manual = content(kSource / "docs" / "configuration.md");
  REQUIRE(keys.size() >= 25);
  for (const std::string& key : keys) {
    CAPTURE(key);
    CHECK(example.find(key + ':') != std::string::npos);
    CHECK(manual.find("| `" + key + "` |") != std::string::npos);
  }
}

TEST_CASE("the manual explains no key that the program refuses") {
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

TEST_CASE("the examples of the manual and of README are loaded as they stand") {
  const std::string pages = content(kSource / "README.md") + content(kSource / "docs" / "configuration.md") +
                            content(kSource / "docs" / "exec.md");
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
