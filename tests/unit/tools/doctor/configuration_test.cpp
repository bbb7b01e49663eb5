#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

TEST_CASE("an invalid configuration is a problem for each of its errors") {
  MadeNode node;
  node.files.file("config.yaml", "resources:\n- {name: example.com/x, count: 0}\n- {name: y, count: 1}\n");
  node.observed = observe(node.host, node.files.at("config.yaml"));
  const Findings found = node.look("configuration");
  REQUIRE(found.size() == 2);
  for (const Finding& finding : found) CHECK(finding.level == Level::kProblem);
  CHECK(contains(found[0].where, "config.yaml:2:"));
  CHECK(contains(found[0].what, "resources[0].count"));
  CHECK(contains(found[1].where, "config.yaml:3:"));
  CHECK(node.look("devices").empty());
  CHECK(node.look("drop-ins").empty());
  CHECK(node.look("owners").empty());
}

TEST_CASE("a warning about the configuration is a finding with the level warning") {
  MadeNode node;
  node.configure(
      "- {name: example.com/x, count: 1, env: {A: x}}\n- {name: example.com/y, count: 1, env: {A: y}}\n");
  REQUIRE_FALSE(node.observed.config->warnings.empty());
  CHECK(node.look("configuration")[0].level == Level::kWarning);
}

TEST_CASE("a file or directory of the configuration that others may write is a warning") {
  MadeNode node;
  const std::filesystem::path file = node.files.at("conf/config.yaml");
  node.files.file("conf/config.yaml", "resources: [{name: example.com/x, count: 1}]\n");
  const auto look = [&] {
    node.observed = observe(node.host, file);
    return node.look("configuration");
  };
  using std::filesystem::perms;
  std::filesystem::permissions(file.parent_path(), perms(0755));
  std::filesystem::permissions(file, perms(0644));
  CHECK(look()[0].level == Level::kOk);
  std::filesystem::permissions(file, perms(0646));
  CHECK(look()[0].level == Level::kWarning);
  CHECK(look()[0].where == file);
  CHECK(contains(look()[0].advice, "chmod go-w " + file.string()));
  std::filesystem::permissions(file, perms(0644));
  std::filesystem::permissions(file.parent_path(), perms(0777));
  CHECK(look()[0].where == file.parent_path());
  std::filesystem::permissions(file.parent_path(), perms(01777));
  CHECK(look()[0].level == Level::kOk);
}

TEST_CASE("a valid configuration is reported with the numbers of its entries and files") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  CHECK(node.one("configuration").what == "1 entry in 1 file, no errors");
}

TEST_CASE("an unread drop-in is a warning, and a read one is not") {
  MadeNode node;
  node.files.file("plugins.d/a.yaml", "resources: [{name: example.com/a, count: 1}]\n");
  node.files.file("plugins.d/b.yml", "resources: [{name: example.com/b, count: 1}]\n");
  node.files.file("plugins.d/c.yaml.off", "resources: [{name: example.com/c, count: 1}]\n");
  node.configure("- {name: example.com/x, count: 1}\n");
  const Finding finding = node.one("drop-ins");
  CHECK(finding.level == Level::kWarning);
  CHECK(finding.where == node.files.at("plugins.d/b.yml"));
  node.files.remove("plugins.d/b.yml");
  CHECK(node.one("drop-ins").level == Level::kOk);
  node.configure("- {name: example.com/x, count: 1}\n", "include: []\n");
  CHECK(node.one("drop-ins").where == node.files.at("plugins.d/a.yaml"));
}

TEST_CASE("for a resource, no device is a note, and an Unhealthy device is a warning") {
  MadeNode node;
  node.tree.file("etc/gophers/g1");
  node.configure(
      "- {name: example.com/absent, directory: {path: /etc/absent}}\n"
      "- {name: example.com/gopher, directory: {path: /etc/gophers}}\n");
  const Findings found = node.look("devices");
  REQUIRE(found.size() == 2);
  CHECK(found[0].where == "example.com/gopher");
  CHECK(found[0].level == Level::kOk);
  CHECK(found[1].level == Level::kNote);
  CHECK(contains(found[1].where, "config.yaml:2:3"));
  CHECK(contains(found[1].what, "example.com/absent has no devices: no such directory /etc/absent"));
  CHECK(contains(found[1].advice, "`plughost discover --explain example.com/absent`"));

  node.observed.devices.entries.clear();
  node.observed.devices.snapshots = {{"example.com/gopher",
                                      Inventory({{.id = "a", .error = "it burns"}, {.id = "b"}}),
                                      node.observed.devices.snapshots[0].spec}};
  const Finding sick = node.one("devices");
  CHECK(sick.level == Level::kWarning);
  CHECK(contains(sick.what, "1 of 2 devices Unhealthy, the first: a: it burns"));
  CHECK(sick.advice == "fix the cause named above");
  node.observed.devices.snapshots[0].inventory = Inventory({{.id = "a", .replicas = 20}});
  CHECK(node.one("devices").what == "1 device with 20 shares, all healthy");
}

TEST_CASE("an entry that cannot be scanned is a problem") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  node.observed.devices = {.errors = {"config.yaml:2:3: example.com/x: the driver is gone"}};
  const Finding finding = node.one("devices");
  CHECK(finding.level == Level::kProblem);
  CHECK(finding.where == "config.yaml:2:3");
  CHECK(finding.what == "example.com/x: the driver is gone");
}
