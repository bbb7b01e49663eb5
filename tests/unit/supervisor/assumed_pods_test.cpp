#include "supervisor/assumed_pods.hpp"

#include <doctest/doctest.h>

#include "integration/fake_pods.hpp"
#include "unit/assume/pods.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::FakePods;
using test::run_until;

struct Rig {
  Rig() { use(cluster); }
  void use(const FakePods& another) {
    directory.file("kubeconfig", another.kubeconfig());
    ++uses;
    server.use(ApiServerConfig{
        .kubeconfig = directory.at("kubeconfig").string(), .node = uses % 2 == 0 ? "n2" : "n1", .where = ""});
  }
  void put(const std::string& uid, const std::string& card, const std::string& time = "1") {
    cluster.put(PodText{.uid = uid, .name = "name-of-" + uid, .annotations = gpushare_annotations(time, card)}
                    .json());
  }
  bool sees(const std::string& uid, const std::string& card) {
    return run_until(loop, [&] {
      const AskingPod* const pod = pods.find(uid);
      return pod && pod->card == card;
    });
  }

  test::TempDir directory;
  FakePods cluster;
  unsigned uses = 0;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Programs programs{loop};
  ApiServer server{loop, workers, programs, log};
  PodWatch watch{server};
  unsigned changes = 0;
  AssumedPods pods{loop, server, watch, kGpuMemory, terms_of(Dialect::kGpushare), [this] { ++changes; }};
};

}  // namespace

TEST_CASE("assumed pods are those that the API server shows, by their UIDs and by their names") {
  Rig rig;
  rig.put("a", "0");
  REQUIRE(rig.sees("a", "0"));
  rig.put("b", "1");
  REQUIRE(rig.sees("b", "1"));
  CHECK(rig.pods.all().size() == 2);
  CHECK(rig.pods.find(Holder{.pod_namespace = "ns", .pod = "name-of-b", .container = "c0"})->uid == "b");
  CHECK(rig.pods.find(Holder{.pod_namespace = "", .pod = "b", .container = "c0"})->uid == "b");
  CHECK_FALSE(rig.pods.find(Holder{.pod_namespace = "other", .pod = "name-of-b", .container = "c0"}));
  CHECK_FALSE(rig.pods.find(Holder{.pod_namespace = "", .pod = "name-of-b", .container = "c0"}));
  const unsigned changes = rig.changes;
  rig.cluster.remove("a");
  REQUIRE(run_until(rig.loop, [&] { return !rig.pods.find("a"); }));
  CHECK(rig.changes > changes);
  rig.pods.set_marked("b");
  CHECK(rig.pods.find("b")->assigned == "true");
}

TEST_CASE("a card that has been set stays, whatever older news say, until the API server shows it") {
  Rig rig;
  rig.put("a", "0");
  REQUIRE(rig.sees("a", "0"));
  rig.pods.set_card("a", "1");
  CHECK(rig.pods.find("a")->card == "1");
  rig.cluster.set_phase("a", "Running");
  REQUIRE(run_until(rig.loop, [&] { return rig.pods.find("a")->phase == "Running"; }));
  CHECK(rig.pods.find("a")->card == "1");
  rig.put("a", "1");
  REQUIRE(run_until(rig.loop, [&] { return rig.pods.find("a")->phase == "Pending"; }));
  rig.put("a", "2");
  CHECK(rig.sees("a", "2"));
  // Another pod of the name is another.
  rig.pods.set_card("a", "1");
  rig.cluster.remove("a");
  REQUIRE(run_until(rig.loop, [&] { return !rig.pods.find("a"); }));
  rig.put("a", "0");
  CHECK(rig.sees("a", "0"));
}

TEST_CASE("a pod that has been marked stays so, whatever older news say") {
  Rig rig;
  rig.put("a", "0");
  REQUIRE(rig.sees("a", "0"));
  rig.pods.set_marked("a");
  rig.cluster.set_phase("a", "Running");
  REQUIRE(run_until(rig.loop, [&] { return rig.pods.find("a")->phase == "Running"; }));
  CHECK(rig.pods.find("a")->assigned == "true");
  // Another pod of the name is another.
  rig.cluster.remove("a");
  REQUIRE(run_until(rig.loop, [&] { return !rig.pods.find("a"); }));
  rig.put("a", "0");
  REQUIRE(rig.sees("a", "0"));
  CHECK(rig.pods.find("a")->assigned == "false");
}

TEST_CASE("who waits is served at once, by the next news, or by one more list of the pods that wait") {
  Rig rig;
  const auto never = [](const std::string&) { FAIL("given up"); };
  int asked = 0;
  rig.pods.until([&] { return ++asked == 1; }, never);
  CHECK(asked == 1);
  rig.put("a", "0");
  REQUIRE(rig.sees("a", "0"));
  bool served = false;
  rig.pods.until([&] { return served = rig.pods.find("b") != nullptr; }, never, 1h);
  CHECK_FALSE(served);
  rig.put("b", "1");
  CHECK(run_until(rig.loop, [&] { return served; }));
  CHECK(rig.cluster.requests("status.phase%3DPending") == 0);
  rig.cluster.hold_watches(true);
  rig.put("c", "1");
  served = false;
  rig.pods.until([&] { return served = rig.pods.find("c") != nullptr; }, never, 1ms);
  CHECK(run_until(rig.loop, [&] { return served; }));
  CHECK(rig.cluster.requests("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1%2Cstatus.phase%3DPending") == 1);
  CHECK(asked == 1);
}

TEST_CASE("who waits in vain is told once, and why the API server did not answer") {
  Rig rig;
  rig.put("a", "0");
  REQUIRE(rig.sees("a", "0"));
  std::vector<std::string> told;
  const auto give_up = [&](const std::string& trouble) { told.push_back(trouble); };
  rig.pods.until([] { return false; }, give_up, 1ms);
  REQUIRE(run_until(rig.loop, [&] { return told.size() == 1; }));
  CHECK(told[0].empty());
  rig.cluster.fail_with(403);
  rig.pods.until([] { return false; }, give_up, 1ms);
  REQUIRE(run_until(rig.loop, [&] { return told.size() == 2; }));
  CHECK(told[1].find("as the test wants it") != std::string::npos);
  rig.server.use(std::nullopt);
  rig.pods.until([] { return false; }, give_up, 1ms);
  REQUIRE(run_until(rig.loop, [&] { return told.size() == 3; }));
  CHECK(told[2] == "the configuration names no API server any more");
  // They are forgotten.
  rig.cluster.fail_with(0);
  rig.use(rig.cluster);
  rig.put("b", "0");
  REQUIRE(rig.sees("b", "0"));
  CHECK(told.size() == 3);
}

TEST_CASE("a pod is waited for a second and a half, and the last list takes no longer than two in all") {
  CHECK(AssumedPods::kPatience + AssumedPods::kLastList < 2s);
  CHECK(AssumedPods::kPatience >= 1s);
}

}  // namespace plughost
