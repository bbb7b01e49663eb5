// Converts each PEER/NAME.in in tests/convert, which must give exactly PEER/NAME.yaml, and plughost must load
// that. NAME.args is the plugin's command line, with or without a NAME.in. NAME.told lists what is lost or
// uncertain, and does not exist if all is kept. Each refused/NAME.in is refused with the text of
// refused/NAME.txt. NAME.explained has what --explain prints. The files of each directory in directories are
// converted together.

#include "tools/convert/convert.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "base/document/yaml.hpp"
#include "config/config.hpp"
#include "places.hpp"
#include "tools/convert/manifests/read_files.hpp"
#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"

namespace plughost {
namespace {

using test::content;

using test::has;

namespace fs = std::filesystem;

const fs::path kFolder = test::in_source("/tests/convert");

// Returns the paths of the examples, without extension.
std::set<fs::path> examples() {
  std::set<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(kFolder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".in" || extension == ".args") found.insert(fs::path(entry.path()).replace_extension());
  }
  return found;
}

bool is_refusal(const fs::path& example) { return example.parent_path().filename() == "refused"; }

fs::path with(const fs::path& example, const char* extension) { return fs::path(example) += extension; }

struct Converted {
  std::string text;  // the YAML, or one line per diagnostic
  std::string told;
  std::string explained;
};

std::string told_of(const Conversion& conversion) {
  std::string told;
  for (const std::string& loss : conversion.losses) told += "not kept: " + loss + '\n';
  for (const std::string& doubt : conversion.doubts) told += "not certain: " + doubt + '\n';
  return told;
}

Converted converted(const fs::path& example) {
  Diagnostics diagnostics;
  std::optional<std::vector<Node>> documents = std::vector<Node>{};
  if (fs::exists(with(example, ".in"))) {
    const std::string name = example.filename().string() + ".in";
    documents = parse_documents(content(with(example, ".in")), name, diagnostics);
  }
  std::optional<Conversion> conversion;
  if (documents) conversion = convert(*documents, content(with(example, ".args")), diagnostics);
  Converted result;
  if (conversion) {
    result.text = conversion->text;
    result.told = told_of(*conversion);
    for (const std::string& line : conversion->explanations) result.explained += line + '\n';
  }
  for (const Diagnostic& diagnostic : diagnostics.all()) result.text += diagnostic.text() + '\n';
  return result;
}

// Changes into the directory while it lives, so that messages have relative file names.
class StandingIn {
 public:
  explicit StandingIn(const fs::path& directory) : before_(fs::current_path()) {
    fs::current_path(directory);
  }
  ~StandingIn() { fs::current_path(before_); }
  StandingIn(const StandingIn&) = delete;
  StandingIn& operator=(const StandingIn&) = delete;

 private:
  fs::path before_;
};

std::optional<Conversion> convert_text(const std::string& text, std::string_view arguments = {}) {
  Diagnostics diagnostics;
  const auto documents = parse_documents(text, "theirs", diagnostics);
  REQUIRE(documents);
  return convert(*documents, arguments, diagnostics);
}

TEST_CASE(
    "each example is converted to the YAML in its .yaml file, or refused with the text in its .txt file") {
  REQUIRE(examples().size() >= 60);
  for (const fs::path& example : examples()) {
    CAPTURE(example.lexically_relative(kFolder).string());
    const Converted result = converted(example);
    CHECK(result.text == content(with(example, is_refusal(example) ? ".txt" : ".yaml")));
    CHECK(result.told == content(with(example, ".told")));
    if (fs::exists(with(example, ".explained")))
      CHECK(result.explained == content(with(example, ".explained")));
  }
}

TEST_CASE("the files of each directory are converted together to the YAML in the directory's .yaml file") {
  const StandingIn there(kFolder / "directories");
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(".")) {
    if (!entry.is_directory()) continue;
    ++count;
    const fs::path name = entry.path().filename();
    CAPTURE(name);
    Diagnostics diagnostics;
    const ReadFiles files = read_files(name, diagnostics);
    const auto conversion = convert(files.documents, "", diagnostics);
    CHECK_FALSE(diagnostics.has_errors());
    REQUIRE(conversion);
    CHECK(conversion->text == content(with(name, ".yaml")));
    CHECK(told_of(*conversion) == content(with(name, ".told")));
    CHECK(errors_of(conversion->text, name).empty());
  }
  CHECK(count >= 4);
}

TEST_CASE("a converted configuration is loaded without an error or a warning") {
  for (const fs::path& example : examples()) {
    if (is_refusal(example)) continue;
    CAPTURE(example.lexically_relative(kFolder).string());
    const test::TempDir dir;
    const std::string text = converted(example).text;
    dir.file("a.yaml", text);
    CHECK(errors_of(text, "a.yaml").empty());
    try {
      const Config config = load_config(dir.at("a.yaml"));
      CHECK(config.warnings.empty());
      CHECK(config.resources.empty() == has(text, "\nresources: []\n"));
    } catch (const ConfigError& error) {
      FAIL_CHECK(error.what());
    }
  }
}

TEST_CASE("an explanation has no value of a flag or variable that does not concern plughost") {
  const auto conversion = convert_text(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: "
      "kube-device-plugin-mini, args: "
      "[--token=secret-a], env: [{name: TOKEN_B, value: secret-b}]}]}\n");
  REQUIRE(conversion);
  std::string all;
  for (const std::string& line : conversion->explanations) all += line + '\n';
  CHECK(has(all, "--token: no meaning here\n"));
  CHECK_FALSE(has(all, "secret"));
}

TEST_CASE("a value with characters that are special in YAML stays one value in the converted YAML") {
  for (const std::string text :
       {"a: b",   "a # b", "# b",  "- a",  "{id}", "yes", "0x10", "1209",        "*a", "&a", "!t", "'a'",
        "a\\\"b", "~",     "null", "a, b", "[a]",  "...", "---",  "caf\xC3\xA9", "|",  ">",  "@a"}) {
    CAPTURE(text);
    std::string escaped;
    for (const char c : text) escaped += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    const auto conversion = convert_text(
        "{\"devices\": [{\"name\": \"a\", \"groups\": [{\"usb\": [{\"vendor\": \"1a86\", \"product\": "
        "\"55d4\", \"serial\": \"" +
        escaped + "\", \"" + escaped + "\": 1}]}]}]}");
    REQUIRE(conversion);
    Diagnostics diagnostics;
    const auto root = parse_yaml(conversion->text, "ours", diagnostics);
    CHECK_FALSE(diagnostics.has_errors());
    REQUIRE(root);
    const Node& groups = *root->find("resources")->items.at(0).find("groups");
    CHECK(groups.items.at(0).find("usb")->items.at(0).find("serial")->scalar == text);
  }
}

TEST_CASE("the command line's domain and devices override the file's") {
  const std::string file = "{domain: a.example, devices: [{name: a, groups: [{paths: [{path: /dev/a}]}]}]}";
  CHECK(has(convert_text(file)->text, "domain: a.example"));
  const auto conversion =
      convert_text(file, "--domain=b.example --device '{name: b, groups: [{paths: [{path: /dev/b}]}]}'");
  REQUIRE(conversion);
  CHECK(has(conversion->text, "domain: b.example"));
  CHECK(has(conversion->text, "/dev/b"));
  CHECK_FALSE(has(conversion->text, "/dev/a"));
  CHECK(has(conversion->text, "on the command line wins"));
}

TEST_CASE("two resources are near each other on request, in all of their entries") {
  Diagnostics diagnostics;
  const auto documents = parse_documents(
      "{permittedHostDevices: {pciHostDevices: [{pciVendorSelector: '10de:2230', resourceName: a.b/gpu}, "
      "{pciVendorSelector: '10de:2231', resourceName: a.b/gpu}, {pciVendorSelector: '10de:1aef', "
      "resourceName: "
      "a.b/audio}]}}",
      "theirs", diagnostics);
  REQUIRE(documents);
  const auto conversion = convert(*documents, "", diagnostics, {{.one = "a.b/gpu", .other = "a.b/audio"}});
  REQUIRE(conversion);
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = conversion->text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  CHECK(count("\n  near: a.b/audio\n") == 2);
  CHECK(count("\n  near: a.b/gpu\n") == 1);
  CHECK(errors_of(conversion->text, "ours").empty());
  CHECK_FALSE(convert(*documents, "", diagnostics, {{.one = "a.b/gpu", .other = "a.b/sound"}}));
  REQUIRE(diagnostics.error_count() == 1);
  CHECK(diagnostics.all()[0].text() == "--near: there is no resource 'a.b/sound' in it");
}

TEST_CASE("an unknown flag is named in a comment") {
  const auto conversion =
      convert_text("{devices: [{name: a, groups: [{paths: [{path: /dev/a}]}]}]}", "--enable-magic 3");
  REQUIRE(conversion);
  CHECK(has(conversion->text, "# The flag '--enable-magic' has no counterpart"));
}

TEST_CASE("a resource that would include unintended cards is kept as a comment only") {
  const auto conversion = convert_text(
      R"({"resourceList": [{"resourceName": "a", "selectors": [{"drivers": ["vfio-pci"], "ddpProfiles": ["GTPv1-C"]}]}]})");
  REQUIRE(conversion);
  CHECK(conversion->entries == 0);
  CHECK(has(conversion->text, "# - name: intel.com/a"));
  CHECK(has(conversion->text, "\nresources: []\n"));
}

}  // namespace
}  // namespace plughost
