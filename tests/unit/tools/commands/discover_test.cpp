// Tests `plughost discover` (why a resource has no devices, and the way from what was seen to what is
// listed), and what `simulate` refuses.

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;

namespace {

// A configuration with a directory of two files, one that is empty, and one that is a file.
struct Discovered {
  TempDir dir;
  std::string config = dir.at("config.yaml").string();

  Discovered() {
    dir.file("some/a.lic");
    dir.file("some/b.txt");
    dir.directory("empty");
    const std::string root = dir.path().string();
    dir.file("config.yaml", "resources:\n- {name: x.com/some, directory: {path: " + root +
                                "/some, match: '*.lic'}}\n- {name: x.com/empty, directory: {path: " + root +
                                "/empty}}\n");
  }
  CommandResult run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"discover", "--config", config});
    return run_plughost(more);
  }
};

}  // namespace

TEST_CASE("discover: a resource without devices has a row and a member `why` with the reason") {
  const Discovered node;
  const std::string why = "the directory " + node.dir.at("empty").string() + " is empty";
  const CommandResult table = node.run({});
  CHECK(table.exit_code == 0);
  CHECK(has(table.printed, "x.com/empty  -       no devices  -     " + why + "\n"));
  const CommandResult json = node.run({"-o", "json"});
  CHECK(has(json.printed, "\"why\": \"" + why + '"'));
  CHECK(json.printed.find("why") == json.printed.rfind("why"));
}

TEST_CASE("discover: an entry that cannot be scanned has a row with its error") {
  const Discovered node;
  const std::string path = node.dir.at("some/a.lic").string();
  node.dir.file("config.yaml", "resources: [{name: x.com/file, directory: {path: " + path + "}}]\n");
  const CommandResult table = node.run({});
  CHECK(table.exit_code == 1);
  CHECK(has(table.printed, "x.com/file  -       not scanned  -     " + path + " is a file"));
  const CommandResult explained = node.run({"--explain", "x.com/file"});
  CHECK(explained.exit_code == 1);
  CHECK(has(explained.printed, "  not scanned: " + path + " is a file"));
}

TEST_CASE("discover: -o name prints NAME=ID of each device, and -o wide its variables and attributes") {
  const Discovered node;
  CHECK(node.run({"-o", "name"}).printed == "x.com/some=a.lic\n");
  const CommandResult wide = node.run({"-o", "wide"});
  CHECK(has(wide.printed, "PATHS"));
  CHECK(has(wide.printed, "  ENV  ATTRIBUTES\n"));
  CHECK(has(wide.printed, "a.lic"));
  CHECK_FALSE(has(node.run({}).printed, "ATTRIBUTES"));
  CHECK(run_plughost({"discover", node.config}).printed == node.run({}).printed);
}

TEST_CASE("discover and simulate: a resource's name may lack its domain, unless several have it") {
  const Discovered node;
  CHECK(node.run({"--explain", "some"}).printed == node.run({"--explain", "x.com/some"}).printed);
  const std::string config = node.dir.at("two.yaml");
  node.dir.file("two.yaml", "resources: [{name: x.com/a, count: 1}, {name: y.com/a, count: 1}]\n");
  CHECK(run_plughost({"simulate", "x.com/a", "--config", config}).exit_code == 0);
  const CommandResult two = run_plughost({"simulate", "a", "--config", config});
  CHECK(two.exit_code == 1);
  CHECK(two.errors == "'a' names several resources: x.com/a, y.com/a; write one with its domain\n");
  node.dir.file("two.yaml", "resources: [{name: x.com/aa, count: 1}, {name: x.com/a, count: 1}]\n");
  CHECK(has(run_plughost({"simulate", "a", "--config", config}).printed, "x.com/a gives a container"));
  CHECK(run_plughost({"simulate", "com/a", "--config", config}).exit_code == 1);
}

TEST_CASE("discover: --explain prints what was seen, left out, matched and listed, of one resource only") {
  const Discovered node;
  const CommandResult some = node.run({"--explain", "x.com/some"});
  CHECK(some.exit_code == 0);
  CHECK(some.printed == "x.com/some (" + node.config +
                            ":2:3)\n"
                            "  directory\n"
                            "    2 entries\n"
                            "    1 left out: `match: *.lic` does not match its name\n"
                            "    1 matches\n"
                            "  1 listed, 0 of them Unhealthy\n");
  const CommandResult empty = node.run({"--explain", "x.com/empty"});
  CHECK(has(empty.printed, "    0 match: the directory " + node.dir.at("empty").string() + " is empty\n"));
  CHECK_FALSE(has(empty.printed, "x.com/some"));
  const CommandResult json = node.run({"--explain", "x.com/some", "-o", "json"});
  CHECK(has(json.printed, "\"1 left out: `match: *.lic` does not match its name\""));
  CHECK(has(json.printed, "\"listed\": 1"));
  CHECK_FALSE(has(json.printed, "x.com/empty"));
}

TEST_CASE("discover: --explain of an Unhealthy device prints its reason") {
  const Discovered node;
  const std::string path = node.dir.at("some/a.lic").string();
  node.dir.file("config.yaml",
                "resources: [{name: x.com/node, groups: [{paths: [{path: " + path + "}]}]}]\n");
  const CommandResult explained = node.run({"--explain", "x.com/node"});
  CHECK(has(explained.printed, "  1 listed, 1 of them Unhealthy\n    "));
  CHECK(has(explained.printed, "a regular file, not a device node"));
}

TEST_CASE("discover: --explain of an unknown name is refused, with the name that was probably meant") {
  const CommandResult result = Discovered().run({"--explain", "x.com/sone"});
  CHECK(result.exit_code == 1);
  CHECK(has(result.errors, "no entry lists 'x.com/sone' (did you mean 'x.com/some'?)"));
  CHECK(result.printed.empty());
}

TEST_CASE(
    "simulate: a missing number, too large a number and an unknown resource are refused with the reason") {
  const Discovered node;
  const auto refusal = [&](const std::string& what) {
    const CommandResult result = run_plughost({"simulate", "--config", node.config, what});
    CHECK(result.exit_code == 1);
    return result.errors;
  };
  CHECK(refusal("x.com/some=") == "after '=' comes a number or ids, as in x.com/some=2\n");
  CHECK(refusal("x.com/some=2") ==
        "this node has 1 Healthy device of x.com/some now, whether pods hold them or not, and not 2\n");
  CHECK(refusal("x.com/none") == "there is no resource x.com/none; there are x.com/empty, x.com/some\n");
}

TEST_CASE("check: a device of this machine that no container could have leads to a note with the reason") {
  const Discovered node;
  node.dir.file(
      "config.yaml",
      "resources:\n- {name: x.com/x, groups: [{paths: [{path: /dev/null, mountPath: /dev/x}, {path: "
      "/dev/zero, mountPath: /dev/x}]}]}\n");
  const CommandResult checked = run_plughost({"check", node.config});
  CHECK(checked.exit_code == 0);
  CHECK(has(checked.errors,
            "note: " + node.config +
                ":2:3: x.com/x: Unhealthy on this machine: null: resource x.com/x: /dev/x in the "
                "container would be both"));
}
