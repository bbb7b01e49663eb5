#include "daemon/report/node_reporter.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/platform/process.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const std::string kCards = "a.example/cards";

// A reporter that counts two cards on the node, with a simulated API server.
struct ReporterRig {
  test::TempDir tree;
  test::FakeCluster cluster;
  test::Process process;
  Config config;
  const std::vector<NodeResourceSpec> specs{{.key = kCards, .count = CardCount::kCards}};
  NodeReporter reporter{process.platform, config, [](const HoldingsReader::Done&) {}};

  void use(bool api_server) {
    config.api_server.reset();
    NodeReporter::Subjects subjects;
    if (api_server) {
      config.api_server = {
          .kubeconfig = cluster.kubeconfig(tree), .node = test::FakeObjects::kNode, .where = {}};
      subjects.counts.push_back(
          {.counts = specs, .lists = {Inventory({{.id = "0"}, {.id = "1"}})}, .settled = true});
    }
    reporter.use(config, subjects);
  }
  bool shows(const std::string& count) {
    return test::run_until(process.loop, [&] { return cluster.shown(kCards) == count; });
  }
  // Waits until that many patches have been answered.
  bool has_written(std::size_t times) {
    return test::run_until(process.loop, [&] {
      std::size_t lines = 0;
      for (auto record = process.log.history().after(0); record;
           record = process.log.history().after(record->number))
        lines += record->json().dump().find("node counts written") == std::string::npos ? 0 : 1;
      return lines >= times;
    });
  }
  bool has_client() { return process.api_server.client() != nullptr; }
};

TEST_CASE("an API server that a reload removes is used until the node shows 0") {
  ReporterRig rig;
  rig.use(true);
  REQUIRE(rig.shows("2"));
  rig.use(false);
  CHECK(rig.has_client());
  CHECK(rig.shows("0"));
  CHECK(test::run_until(rig.process.loop, [&] { return !rig.has_client(); }));
}

TEST_CASE("an API server that a reload removes and the next one restores in time stays in use") {
  ReporterRig rig;
  rig.use(true);
  REQUIRE(rig.has_written(1));
  rig.cluster.hold_watches(true);  // only answers to patches count
  rig.cluster.hold("PATCH");       // delays the farewell until release()
  rig.use(false);
  REQUIRE(test::run_until(rig.process.loop, [&] { return rig.cluster.asked("PATCH") == 2; }));
  rig.use(true);
  rig.cluster.release();
  REQUIRE(rig.has_written(2));  // the farewell writes 0
  test::pass(rig.process.loop, NodeCounts::kPause);
  REQUIRE(rig.has_written(3));  // the configuration in force writes 2
  test::pass(rig.process.loop, NodeReporter::kFarewellLimit);
  CHECK(rig.has_client());
  CHECK(rig.cluster.shown(kCards) == "2");
}

}  // namespace
