// The command plughost preset.

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;

namespace {

const std::string kGopher = "example.com/gopher";

// A configuration, and presets: one that finds a device, one that finds none, and one that needs no hardware.
struct Presets {
  explicit Presets(const std::string& entry) {
    dir.file("config.yaml", "resources:\n- " + entry + "\n");
    dir.file("gophers/amy");
    add("gopher", "Gophers", "directory: {path: " + dir.at("gophers").string() + "}");
    add("mole", "Moles", "directory: {path: " + dir.at("moles").string() + "}");
    add("token", "Tokens", "count: 2");
  }

  CommandResult run_plughost(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "preset");
    arguments.insert(arguments.end(), {"--config", dir.at("config.yaml"), "--presets", dir.at("presets")});
    return plughost::test::run_plughost(arguments);
  }

  const TempDir dir;

 private:
  void add(const std::string& name, const std::string& words, const std::string& keys) const {
    dir.file("presets/" + name + ".yaml",
             "# " + words + "\nresources:\n- {name: example.com/" + name + ", " + keys + "}\n");
  }
};

}  // namespace

TEST_CASE("`preset list --here` prints the presets that find a device, with the devices") {
  const Presets presets("{name: example.com/a, count: 1}");
  const CommandResult here = presets.run_plughost({"list", "--here"});
  CHECK(here.exit_code == 0);
  CHECK(has(here, kGopher + ": amy"));
  CHECK_FALSE(has(here, "mole"));
  CHECK_FALSE(has(here, "token"));
  CHECK(has(presets.run_plughost({"list", "--here", "-o", "json"}), "\"id\": \"amy\""));
  CHECK(has(presets.run_plughost({"list"}), "Moles"));
  CHECK(has(presets.run_plughost({"show", "mole"}), "# Moles\nresources:"));
}

TEST_CASE("`preset` exits with 1 on a refusal, and with 2 on a usage error") {
  const Presets presets("{name: " + kGopher + ", count: 1, forgetAfter: 1s}");
  const CommandResult twice = presets.run_plughost({"enable", "gopher"});
  CHECK(twice.exit_code == 1);
  CHECK(has(twice,
            "has the same name, so that the two are one resource, and `forgetAfter` is set for the whole"));
  CHECK(has(twice, "nothing was changed"));
  const CommandResult unknown = presets.run_plughost({"show", "gophers"});
  CHECK(unknown.exit_code == 1);
  CHECK(has(unknown, "did you mean 'gopher'?"));
  presets.dir.file("presets/broken.yaml", "# Broken\nresources: [{}]\n");
  CHECK(has(presets.run_plughost({"list", "--here"}), "broken.yaml:2:13"));
  const std::vector<std::vector<std::string>> wrong{
      {}, {"frob"}, {"enable"}, {"list", "gopher"}, {"show", "--here", "gopher"}};
  for (const std::vector<std::string>& arguments : wrong)
    CHECK(presets.run_plughost(arguments).exit_code == 2);
}
