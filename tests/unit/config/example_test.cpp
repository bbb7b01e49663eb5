// config.example.yaml, the drop-ins and docs/configuration.md keep up with what the program takes.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "config/config.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = PLUGHOST_SOURCE_DIR;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every key that the program knows, as it says when it is asked for one that it does not know.
std::set<std::string> known_keys() {
  const test::TempDir dir;
  dir.file("a.yaml", R"(
qqqqqqqq: 1
kubelet: {qqqqqqqq: 1}
log: {qqqqqqqq: 1}
include: []
resources:
- name: example.com/a
  qqqqqqqq: 1
  directory: {path: /a, qqqqqqqq: 1}
  mounts: [{hostPath: /a, qqqqqqqq: 1}]
  nodes: [{hostPath: /a, qqqqqqqq: 1}]
- name: example.com/b
  groups: [{qqqqqqqq: 1, paths: [{path: /a, qqqqqqqq: 1}]}]
)");
  std::set<std::string> keys;
  try {
    load_config(dir.at("a.yaml"));
  } catch (const ConfigError& error) {
    CHECK(error.diagnostics.size() == 9);
    for (const Diagnostic& diagnostic : error.diagnostics) {
      const std::regex word("[A-Za-z]+");
      const std::string list = diagnostic.what.substr(diagnostic.what.find("known here: ") + 12);
      keys.insert(std::sregex_token_iterator(list.begin(), list.end(), word), std::sregex_token_iterator());
    }
  }
  return keys;
}

TEST_CASE("the example is loaded together with the drop-ins beside it, without a warning") {
  const Config config = load_config(kSource / "config.example.yaml");
  CHECK(config.warnings.empty());
  std::set<fs::path> read(config.files.begin(), config.files.end());
  for (const char* name : {"kvm", "fuse", "tun", "gopher", "count", "loop"}) {
    CAPTURE(name);
    CHECK(read.contains(kSource / "plugins.d" / (std::string(name) + ".yaml")));
  }
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
  const std::regex row(R"(\n\| `([A-Za-z]+)` \|)");
  std::size_t rows = 0;
  for (std::sregex_iterator match(manual.begin(), manual.end(), row), end; match != end; ++match, ++rows) {
    CAPTURE((*match)[1].str());
    CHECK(keys.contains((*match)[1]));
  }
  CHECK(rows >= 25);
}

TEST_CASE("the manual's examples are loaded as they stand") {
  const std::string manual = content(kSource / "docs" / "configuration.md");
  const std::regex block("```yaml\n([^`]*)```");
  std::size_t blocks = 0;
  for (std::sregex_iterator match(manual.begin(), manual.end(), block), end; match != end;
       ++match, ++blocks) {
    const test::TempDir dir;
    dir.file("a.yaml", (*match)[1].str());
    CAPTURE((*match)[1].str());
    CHECK_NOTHROW(load_config(dir.at("a.yaml")));
  }
  CHECK(blocks >= 4);
}

}  // namespace
}  // namespace plughost
