#include "fleet/survey.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

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
  REQUIRE(found.offers.size() == 2);
  CHECK(found.offers[0].resource == "x.com/a");
  CHECK(found.offers[0].inventory.id_count() == 2);
  CHECK(found.offers[1].inventory.devices()[0].id == "amy");
  CHECK(found.troubles.empty());
}

TEST_CASE("an entry that cannot be looked at does not hide the others") {
  const test::TempDir dir;
  dir.file("file");
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("file").string() +
                                      "}}\n- {name: x.com/a, count: 2}\n");
  const Survey found = survey(config, HostRoot());
  CHECK(found.offers.size() == 1);
  REQUIRE(found.troubles.size() == 1);
  CHECK(found.troubles[0].find("config.yaml:2:3: x.com/b: ") != std::string::npos);
}

TEST_CASE("a survey has what an entry chooses, and says which patterns match nothing here") {
  const test::TempDir dir;
  dir.file("gophers/amy");
  dir.file("gophers/bob");
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("gophers").string() +
                                      "}, except: [{name: bob}, {name: c*}], replicas: {amy: 2, bob: 3}}\n");
  const Survey found = survey(config, HostRoot());
  CHECK(found.offers.at(0).inventory.id_count() == 2);
  CHECK(found.remarks.empty());
  REQUIRE(found.unmatched.size() == 2);
  CHECK(found.unmatched[0].ends_with(
      "config.yaml:2:3: x.com/b: `except[1]` matches no device that is here now"));
  CHECK(found.unmatched[1].ends_with(": `replicas.bob` matches no device that is here now"));
}

TEST_CASE("a look says which directories it depends on") {
  const test::TempDir dir;
  const Config config = load(dir, "- {name: x.com/b, directory: {path: " + dir.at("later").string() + "}}\n");
  const Scan found = config.resources[0].source->scan(HostRoot());
  REQUIRE(found.watch.size() == 1);
  CHECK(found.watch[0].path == dir.at("later"));
}
