// The commands plughost facts and plughost plan.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/temp_dir.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;

namespace {

using JsonValue = nlohmann::json;

// Returns the facts of a node with that hostname and number of serial ports.
std::string node(const std::string& name, int ports) {
  JsonValue tree{{"dev", JsonValue::object()},
                 {"proc", {{"sys", {{"kernel", {{"hostname", name + "\n"}}}}}}}};
  for (int i = 0; i < ports; ++i)
    tree["dev"]["ttyUSB" + std::to_string(i)] = {"char", "188:" + std::to_string(i)};
  return JsonValue{{"plughostFacts", 1}, {"node", name}, {"recorded", "2026-01-31T12:00:00Z"}, {"tree", tree}}
      .dump();
}

constexpr const char* kOld = "resources: [{name: x.com/token, count: 1}]";
constexpr const char* kNew =
    "resources: [{name: x.com/token, count: 1},"
    " {name: x.com/serial, groups: [{paths: [{path: /dev/ttyUSB*}]}], when: {hostname: plc-*}}]";

// The facts of two nodes, of which one has the devices of the new configuration.
struct Fleet {
  Fleet() {
    dir.file("facts/a.json", node("plc-1", 2));
    dir.file("facts/b.json", node("vm-1", 0));
    dir.file("facts/readme.txt", "no facts");
    dir.file("old.yaml", kOld);
    dir.file("new.yaml", kNew);
  }
  CommandResult plan(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"plan", "--facts", path("facts"), path("new.yaml")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_plughost(arguments);
  }
  std::string path(const std::string& name) const { return dir.at(name); }
  TempDir dir;
};

}  // namespace

TEST_CASE("plughost facts describes the node without the texts of configured files, and runs no program") {
  const TempDir dir;
  dir.file("gophers/amy", "the text of a licence");
  dir.file("config.yaml", "resources: [{name: x.com/gopher, directory: {path: " + dir.at("gophers").string() +
                              "}}, {name: x.com/program, exec: {discover: [/bin/touch, " +
                              dir.at("ran").string() + "], interval: 5s}}]");
  const CommandResult finished = run_plughost(
      {"facts", "--config", dir.at("config.yaml"), "--path", "/etc/passw?", "--path", "/proc/self/sta*"});
  REQUIRE(finished.exit_code == 0);
  CHECK(finished.output.size() < 500'000);
  const JsonValue facts = JsonValue::parse(finished.output);
  CHECK(facts["plughostFacts"] == 1);
  CHECK_FALSE(facts["node"].get<std::string>().empty());
  const JsonValue& tree = facts["tree"];
  CHECK(tree["dev"]["null"] == JsonValue{"char", "1:3"});
  CHECK(tree["proc"]["sys"]["kernel"]["osrelease"].is_string());
  CHECK(tree["proc"]["sys"]["kernel"]["arch"].is_string());
  CHECK(tree["etc"]["passwd"] == JsonValue{"file"});
  CHECK(tree["etc"].size() == 1);
  JsonValue::json_pointer amy(dir.at("gophers/amy").string());
  CHECK(tree[amy] == JsonValue{"file"});
  CHECK_FALSE(has(finished, "licence"));
  CHECK_FALSE(has(finished, "root:"));
  CHECK_FALSE(std::filesystem::exists(dir.at("ran")));
  // plughost plan reads these facts.
  dir.file("facts.json", finished.output);
  const CommandResult planned =
      run_plughost({"plan", "--facts", dir.at("facts.json"), dir.at("config.yaml")});
  CHECK(planned.exit_code == 0);
  CHECK(has(planned, "x.com/gopher   1        amy"));
  CHECK(has(planned, "x.com/program  ?"));
  CHECK_FALSE(std::filesystem::exists(dir.at("ran")));
}

TEST_CASE("plughost facts reports errors of its arguments") {
  const CommandResult relative = run_plughost({"facts", "--path", "dev/null"});
  CHECK(relative.exit_code == 2);
  CHECK(has(relative, "--path dev/null: "));
  const CommandResult missing = run_plughost({"facts", "--config", "/none.yaml"});
  CHECK(missing.exit_code == 1);
  CHECK(has(missing, "/none.yaml"));
}

TEST_CASE("plughost plan prints each node's resources, and why an entry does not apply") {
  const Fleet fleet;
  const CommandResult finished = fleet.plan();
  CHECK(finished.exit_code == 0);
  CHECK(finished.output ==
        "NODE   RESOURCE      DEVICES  IDS\n"
        "plc-1  x.com/serial  2        ttyUSB0, ttyUSB1\n"
        "plc-1  x.com/token   1        x.com/token-0\n"
        "vm-1   x.com/token   1        x.com/token-0\n"
        "not here: x.com/serial (" +
            fleet.path("new.yaml") + ":1:44): on 1 of 2 nodes; vm-1: hostname is 'vm-1', not plc-*\n");
}

TEST_CASE("plughost plan --from prints the differences, and sums up equal nodes") {
  const Fleet fleet;
  const CommandResult finished = fleet.plan({"--from", fleet.path("old.yaml")});
  CHECK(finished.exit_code == 0);
  CHECK(
      finished.output.starts_with("NODE   RESOURCE      BEFORE  AFTER  DIFFERENCE\n"
                                  "plc-1  x.com/serial  -       2      new: ttyUSB0, ttyUSB1\n"
                                  "1 node does not differ: vm-1\n"));
  const CommandResult none = run_plughost(
      {"plan", "--facts", fleet.path("facts"), fleet.path("old.yaml"), "--from", fleet.path("old.yaml")});
  CHECK(none.output == "2 nodes do not differ: plc-1, vm-1\n");
}

TEST_CASE(
    "plughost plan -o json has each node's resources, changes, and reasons of entries that do not apply") {
  const Fleet fleet;
  const CommandResult finished = fleet.plan({"--from", fleet.path("old.yaml"), "-o", "json"});
  REQUIRE(finished.exit_code == 0);
  const JsonValue plan = JsonValue::parse(finished.output);
  CHECK(plan["unusable"].empty());
  REQUIRE(plan["nodes"].size() == 2);
  const JsonValue& first = plan["nodes"][0];
  CHECK(first["node"] == "plc-1");
  CHECK(first["file"] == fleet.path("facts/a.json"));
  CHECK(first["recorded"] == "2026-01-31T12:00:00Z");
  CHECK(first["fails"] == false);
  CHECK(first["differs"] == true);
  CHECK(first["changes"] == JsonValue::parse(R"([{"resource": "x.com/serial", "before": null, "after": 2,
                                             "added": ["ttyUSB0", "ttyUSB1"], "removed": [], "changed": []}])"));
  CHECK(first["before"]["resources"].size() == 1);
  CHECK(first["after"]["resources"][0] ==
        JsonValue::parse(R"({"resource": "x.com/serial", "known": true, "count": 2, "healthy": 2,
                        "devices": [{"id": "ttyUSB0"}, {"id": "ttyUSB1"}]})"));
  const JsonValue& second = plan["nodes"][1];
  CHECK(second["differs"] == false);
  CHECK(second["changes"].empty());
  CHECK(second["after"]["notHere"][0]["name"] == "x.com/serial");
  CHECK(second["after"]["notHere"][0]["why"] == "hostname is 'vm-1', not plc-*");
  CHECK(second["after"]["errors"].empty());
}

TEST_CASE("a node on which the configuration fails leads to exit code 1, with its error") {
  const Fleet fleet;
  fleet.dir.file("new.yaml", "resources: [{name: x.com/port, directory: {path: /dev/ttyUSB0}}]");
  const CommandResult finished = fleet.plan();
  CHECK(finished.exit_code == 1);
  CHECK(
      has(finished, "error: plc-1: " + fleet.path("new.yaml") + ":1:13: x.com/port: /dev/ttyUSB0 is a file"));
  CHECK_FALSE(has(finished, "error: vm-1"));
  fleet.dir.file("new.yaml", "resources: 7");
  const CommandResult broken = fleet.plan();
  CHECK(broken.exit_code == 1);
  CHECK(has(broken, fleet.path("new.yaml") + ":1:12: "));
  CHECK(fleet.plan({"--from", "/none.yaml"}).exit_code == 1);
}

TEST_CASE("a file without facts is named, the other nodes are planned, and the exit code is 2") {
  const Fleet fleet;
  fleet.dir.file("facts/c.json", R"({"plughostFacts": 2, "tree": {"dev": {}}})");
  fleet.dir.file("facts/d.json", node("half", 1).substr(0, 100));
  fleet.dir.file("facts/e.json", "");
  fleet.dir.link("facts/f.json", "nowhere");
  const CommandResult finished = fleet.plan();
  CHECK(finished.exit_code == 2);
  CHECK(has(finished, "error: " + fleet.path("facts/c.json") + ": these are facts of version 2"));
  CHECK(has(finished,
            "error: " + fleet.path("facts/d.json") + ": the file ends too early, at line 1, column 100"));
  CHECK(has(finished, "error: " + fleet.path("facts/e.json") + ": the file ends too early"));
  CHECK(has(finished, "error: " + fleet.path("facts/f.json") + ": it cannot be read"));
  CHECK(has(finished, "plc-1  x.com/serial  2"));
}

TEST_CASE("without a file of facts there is nothing to plan") {
  const Fleet fleet;
  fleet.dir.directory("empty");
  const CommandResult empty = run_plughost({"plan", "--facts", fleet.path("empty"), fleet.path("new.yaml")});
  CHECK(empty.exit_code == 2);
  CHECK(has(empty, "there is no *.json in it; plughost facts prints one on each node"));
  const CommandResult none = run_plughost({"plan", "--facts", fleet.path("none"), fleet.path("new.yaml")});
  CHECK(none.exit_code == 2);
  CHECK(has(none, fleet.path("none") + ": "));
  CHECK(run_plughost({"plan", fleet.path("new.yaml")}).exit_code == 2);
}

TEST_CASE("two nodes with one name are distinguished by their files") {
  const Fleet fleet;
  fleet.dir.file("facts/c.json", node("plc-1", 1));
  CHECK(has(fleet.plan(), "plc-1 (c.json)  x.com/serial  1        ttyUSB0\n"));
}

TEST_CASE("a note that several nodes have is printed once, and not at all if --from leads to it too") {
  const Fleet fleet;
  fleet.dir.file("new.yaml",
                 "resources: [{name: x.com/program, exec: {discover: /bin/true, interval: 5s}},"
                 " {name: x.com/serial, groups: [{paths: [{path: /dev/ttyUSB*}]}]}]");
  fleet.dir.file("facts/c.json", node("wide", 12));
  const CommandResult finished = fleet.plan();
  CHECK(finished.exit_code == 0);
  CHECK(has(finished,
            "note: what /bin/true says is not known here: no program is run (3 nodes: plc-1, vm-1, wide)\n"));
  CHECK(has(finished, "plc-1  x.com/program  ?        -\n"));
  CHECK(has(
      finished,
      "wide   x.com/serial   12       ttyUSB0, ttyUSB1, ttyUSB10, ttyUSB11, ttyUSB2, ttyUSB3 and 6 more\n"));
  const CommandResult same = fleet.plan({"--from", fleet.path("new.yaml")});
  CHECK(same.output == "3 nodes do not differ: plc-1, vm-1, wide\n");
}
