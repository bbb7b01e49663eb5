#include "daemon/report/feature_labels.hpp"

#include <doctest/doctest.h>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

const std::string kLabelled = "example.com/gpu";

struct LabelsRig {
  TempDir tree;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  Workers workers{loop, 2};
  std::vector<LabelSpec> specs{{.key = "model", .value = Template("{name}")}};
  FeatureLabels labels{loop, workers, log, at("first")};

  FeatureDirectory at(const std::string& below) const {
    return {HostRoot(tree.path()), '/' + below, "plughost"};
  }
  FeatureLabels::Subject subject(const std::vector<std::string>& names) const {
    std::vector<Device> devices;
    for (const std::string& name : names)
      devices.push_back({.id = 'c' + name, .attributes = {{"name", name}}});
    return {.entry = kLabelled,
            .where = "config.yaml:3:3",
            .labels = specs,
            .lists = {Inventory(std::move(devices))},
            .settled = true};
  }
  bool there(const std::string& below) {
    return run_until(loop, [&] { return exists(below); });
  }
  bool gone(const std::string& below) {
    return run_until(loop, [&] { return !exists(below); });
  }
  bool exists(const std::string& below) const {
    return std::filesystem::exists(tree.at(below) / feature_file_name("plughost", kLabelled));
  }
  std::uint64_t warnings() { return log.warnings().count(); }
};

}  // namespace

TEST_CASE("labels: a left-out label is reported once, and again if it was valid or absent in the meantime") {
  LabelsRig rig;
  rig.labels.follow({rig.subject({"T4", "L4"})});
  rig.labels.follow({rig.subject({"T4", "L4"})});
  CHECK(rig.warnings() == 1);
  rig.labels.follow({rig.subject({"T4"})});
  CHECK(rig.warnings() == 1);
  rig.labels.follow({rig.subject({"T4", "L4"})});
  CHECK(rig.warnings() == 2);
  // The entry goes and returns.
  rig.labels.follow({});
  rig.labels.follow({rig.subject({"T4", "L4"})});
  CHECK(rig.warnings() == 3);
}

TEST_CASE("labels: an entry whose list is unknown neither gets nor loses a file") {
  LabelsRig rig;
  rig.labels.follow({rig.subject({"T4"})});
  REQUIRE(rig.there("first"));
  FeatureLabels next(rig.loop, rig.workers, rig.log, rig.at("first"));
  FeatureLabels::Subject unsettled = rig.subject({});
  unsettled.settled = false;
  rig.tree.file("first/plughost-old-0", "x=y\n");
  next.follow({unsettled});
  REQUIRE(run_until(rig.loop, [&] { return !std::filesystem::exists(rig.tree.at("first/plughost-old-0")); }));
  CHECK(rig.exists("first"));
  next.follow({rig.subject({})});
  CHECK(rig.gone("first"));
}

TEST_CASE("labels: a change of directory removes the files from the former directory, and can be reverted") {
  LabelsRig rig;
  rig.labels.follow({rig.subject({"T4"})});
  REQUIRE(rig.there("first"));
  rig.labels.use(rig.at("second"));
  rig.labels.follow({rig.subject({"T4"})});
  CHECK(rig.there("second"));
  CHECK(rig.gone("first"));
  rig.labels.use(rig.at("first"));
  rig.labels.follow({rig.subject({"T4"})});
  CHECK(rig.there("first"));
  CHECK(rig.gone("second"));
  CHECK(rig.exists("first"));
}

TEST_CASE("labels: a former process's files in a new directory are removed although no entry has labels") {
  LabelsRig rig;
  rig.labels.follow({});
  run_once(rig.loop);
  rig.tree.file("second/plughost-old-0", "x=y\n");
  rig.labels.use(rig.at("second"));
  rig.labels.follow({});
  CHECK(run_until(rig.loop, [&] { return !std::filesystem::exists(rig.tree.at("second/plughost-old-0")); }));
}

TEST_CASE("labels: a former process's files are removed although no entry has labels") {
  LabelsRig rig;
  rig.tree.file("first/plughost-old-0", "x=y\n");
  rig.labels.follow({});
  CHECK(run_until(rig.loop, [&] { return !std::filesystem::exists(rig.tree.at("first/plughost-old-0")); }));
}
