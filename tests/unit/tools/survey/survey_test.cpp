#include "tools/survey/survey.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"
#include "unit/tools/plan/made_machines.hpp"

using namespace plughost;

namespace {

Config load(const test::TempDir& dir, const std::string& resources) {
  dir.file("config.yaml", "resources:\n" + resources);
  return load_config(dir.at("config.yaml"));
}

}  // namespace

TEST_CASE("a survey has every resource that the daemon would serve, by name") {
  const test::TempDir dir;
  dir.file("gophers/amy");
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("gophers").string() +
                                      "}}\n- {name: x.com/a, count: 2}\n");
  const Survey found = survey(config, HostRoot());
  REQUIRE(found.snapshots.size() == 2);
  CHECK(found.snapshots[0].resource == "x.com/a");
  CHECK(found.snapshots[0].inventory.id_count() == 2);
  CHECK(found.snapshots[1].inventory.devices()[0].id == "amy");
  CHECK(found.errors.empty());
}

TEST_CASE("an entry that cannot be scanned does not hide the others") {
  const test::TempDir dir;
  dir.file("file");
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("file").string() +
                                      "}}\n- {name: x.com/a, count: 2}\n");
  const Survey found = survey(config, HostRoot());
  CHECK(found.snapshots.size() == 1);
  REQUIRE(found.errors.size() == 1);
  CHECK(found.errors[0].find("config.yaml:2:3: x.com/b: ") != std::string::npos);
}

TEST_CASE("entries with the same name have one list, in which a device of both belongs to the first entry") {
  const test::TempDir dir;
  dir.file("one/amy");
  dir.file("two/bob");
  const auto entry = [&](const char* path, const char* more) {
    return "- {name: x.com/b, directory: {path: " + dir.at(path).string() + "}" + more + "}\n";
  };
  const std::string both = entry("one", ", env: {A: one}") + entry("two", ", env: {A: two}");
  const Survey found = survey(load(dir, both + entry("none", "")), HostRoot());
  REQUIRE(found.snapshots.size() == 1);
  const auto devices = found.snapshots[0].inventory.devices();
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].id == "amy");
  CHECK(devices[0].terms == found.snapshots[0].spec);
  CHECK(devices[1].terms->env.front().second.text() == "two");
  CHECK(survey(load(dir, entry("one", "") + entry("one", ", id: \"again-{id}\"")), HostRoot())
            .snapshots.at(0)
            .inventory.id_count() == 1);
}

TEST_CASE("an entry that cannot be scanned does not hide the devices of an entry with the same name") {
  const test::TempDir dir;
  dir.file("file");
  const Survey found = survey(load(dir, "- {name: x.com/b, directory: {path: " + dir.at("file").string() +
                                            "}}\n- {name: x.com/b, count: 2}\n"),
                              HostRoot());
  REQUIRE(found.snapshots.size() == 1);
  CHECK(found.snapshots[0].inventory.id_count() == 2);
  CHECK(found.errors.size() == 1);
}

TEST_CASE("a survey has the devices that `except` leaves, and lists the patterns that match no device") {
  const test::TempDir dir;
  dir.file("gophers/amy");
  dir.file("gophers/bob");
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("gophers").string() +
                                      "}, except: [{name: bob}, {name: c*}], replicas: {amy: 2, bob: 3}}\n");
  const Survey found = survey(config, HostRoot());
  CHECK(found.snapshots.at(0).inventory.id_count() == 2);
  CHECK(found.remarks.empty());
  REQUIRE(found.unmatched.size() == 2);
  CHECK(found.unmatched[0].ends_with("config.yaml:2:3: x.com/b: `except[1]` matches no device at present"));
  CHECK(found.unmatched[1].ends_with(": `replicas.bob` matches no device at present"));
}

TEST_CASE("a survey has each entry with its funnels, its resources and the numbers of its devices") {
  const test::TempDir dir;
  dir.file("gophers/amy");
  dir.file("gophers/bob");
  const std::string gophers = dir.at("gophers").string();
  const Survey found = survey(
      load(dir, "- {name: 'x.com/g-{name}', directory: {path: " + gophers +
                    "}}\n- {name: x.com/none, directory: {path: " + gophers +
                    "/none}}\n- {name: x.com/file, directory: {path: " + gophers +
                    "/amy}}\n- {name: x.com/sick, groups: [{paths: [{path: " + gophers + "/amy}]}]}\n"),
      HostRoot());
  REQUIRE(found.entries.size() == 4);
  const auto entry = [&](const std::string& name) {
    return *std::ranges::find(found.entries, name, &SurveyedEntry::name);
  };
  CHECK(entry("x.com/g-{name}").resources == std::set<std::string>{"x.com/g-amy", "x.com/g-bob"});
  CHECK(entry("x.com/g-{name}").listed == 2);
  CHECK(entry("x.com/g-{name}").why_no_devices().empty());
  CHECK(entry("x.com/none").why_no_devices() == "no such directory " + gophers + "/none");
  CHECK(entry("x.com/none").where.ends_with("config.yaml:3:3"));
  CHECK(entry("x.com/file").error.find("is a file") != std::string::npos);
  CHECK(entry("x.com/file").why_no_devices().empty());
  REQUIRE(entry("x.com/sick").unhealthy.size() == 1);
  CHECK(entry("x.com/sick").unhealthy[0].find("a regular file, not a device node") != std::string::npos);
}

TEST_CASE("a scan lists the directories that it depends on") {
  const test::TempDir dir;
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("later").string() + "}}\n");
  const Scan found = config.resources[0].source->scan(HostRoot());
  REQUIRE(found.watch.size() == 1);
  CHECK(found.watch[0].path == dir.at("later"));
}

TEST_CASE(
    "cdi_use returns the kinds of the CDI names that containers get, apart from the daemon's own kinds") {
  using Kinds = std::set<std::string>;
  const test::TempDir dir;
  const HostRoot host(test::made_machines().at("gpu-nvlink").machine);
  const auto use_of = [&](const std::string& resources) {
    const Config config = load(dir, resources);
    return cdi_use(config, survey(config, host));
  };
  for (const std::string strategy : {"cdi-cri", "cdi-annotations"}) {
    CAPTURE(strategy);
    const CdiUse cards = use_of(
        "- {name: x.com/gpu, gpu: {vendor: nvidia, imexChannels: [0], "
        "deviceListStrategy: " +
        strategy + "}}\n");
    CHECK(cards.kinds ==
          Kinds{"k8s.device-plugin.nvidia.com/gpu", "k8s.device-plugin.nvidia.com/imex-channel"});
    CHECK(cards.own.empty());
  }
  for (const std::string way : {"cri", "annotations"}) {
    CAPTURE(way);
    const CdiUse own = use_of(
        "- {name: x.com/a, count: 1, mounts: [{hostPath: /etc}], "
        "annotations: {cdi.k8s.io/a: 'v.com/c{n}=b,v.com/c=d'}, cdi: " +
        way + "}\n");
    CHECK(own.own == Kinds{"x.com/a"});
    CHECK(own.kinds == Kinds{"v.com/c", "v.com/c0"});
  }
}
