#include "daemon/report/node_events.hpp"

#include <doctest/doctest.h>

#include "unit/kubernetes/apiserver/api_node.hpp"
#include "unit/run_until.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::FakeCluster;
using test::run_until;

const Inventory kWell(std::vector<Device>{{.id = "a"}});
const Inventory kSick(std::vector<Device>{{.id = "a", .error = "hot"}});

struct EventsRig : test::ApiNode {
  explicit EventsRig(bool on = true) {
    objects.add_pod("ml", "train", "uid-of-train");
    events.use(on);
    answer.holdings =
        std::make_shared<const Holdings>(Holdings{{"x.com/gpu", {{"a", {"ml", "train", "main"}}}}});
    lists(kWell);
  }
  void lists(const Inventory& inventory) {
    events.follow({.resource = "x.com/gpu", .inventory = inventory, .spec = nullptr});
  }
  bool comes_to(std::size_t count) {
    return run_until(loop, [&] { return objects.events().size() == count; });
  }
  bool stays_at(std::size_t count) {
    return !run_until(
        loop, [&] { return objects.events().size() != count; }, 50ms);
  }
  // Returns the Event's object, reason and message.
  std::string event(std::size_t number) const {
    const Json event = objects.events()[number];
    const Json& object = event["involvedObject"];
    return object["kind"].text() + ' ' + object["uid"].text() + ": " + event["reason"].text() + ": " +
           event["message"].text();
  }

  PodResources::Answer answer;
  NodeEvents events{loop, log, server, [this](const auto& done) { done(answer); }};
};

TEST_CASE(
    "a change of a device's health leads to an Event on the Node and one on the pod that holds the device") {
  EventsRig rig;
  rig.lists(kSick);
  REQUIRE(rig.comes_to(2));
  CHECK(rig.event(0) == "Node worker-1: DeviceUnhealthy: x.com/gpu: a: Unhealthy: hot");
  CHECK(rig.event(1) == "Pod uid-of-train: DeviceUnhealthy: x.com/gpu: a: Unhealthy: hot");
  CHECK(rig.objects.events()[1]["metadata"]["namespace"].text() == "ml");
  rig.lists(kWell);
  REQUIRE(rig.comes_to(4));
  CHECK(rig.event(2) == "Node worker-1: DeviceHealthy: x.com/gpu: a: Healthy again");
  CHECK(rig.event(3) == "Pod uid-of-train: DeviceHealthy: x.com/gpu: a: Healthy again");
  CHECK(rig.objects.asked("POST /api/v1/namespaces/default/events") == 2);
  CHECK(rig.objects.asked("POST /api/v1/namespaces/ml/events") == 2);
}

TEST_CASE("a list in which one device turns Unhealthy and one Healthy leads to two Events for each object") {
  const Inventory first(std::vector<Device>{{.id = "a", .error = "hot"}, {.id = "b"}});
  const Inventory second(std::vector<Device>{{.id = "a"}, {.id = "b", .error = "cold"}});
  EventsRig rig;
  rig.answer.holdings = std::make_shared<const Holdings>(
      Holdings{{"x.com/gpu", {{"a", {"ml", "train", "main"}}, {"b", {"ml", "train", "main"}}}}});
  rig.lists(first);
  REQUIRE(rig.comes_to(2));
  // Within a minute, the second DeviceUnhealthy would wait.
  test::pass(rig.loop, EventQueue::kInterval);
  rig.lists(second);
  REQUIRE(rig.comes_to(6));
  CHECK(rig.event(2) == "Node worker-1: DeviceUnhealthy: x.com/gpu: b: Unhealthy: cold");
  CHECK(rig.event(3) == "Node worker-1: DeviceHealthy: x.com/gpu: a: Healthy again");
  CHECK(rig.event(4) == "Pod uid-of-train: DeviceUnhealthy: x.com/gpu: b: Unhealthy: cold");
  CHECK(rig.event(5) == "Pod uid-of-train: DeviceHealthy: x.com/gpu: a: Healthy again");
}

TEST_CASE("a repeated Event within a minute waits, and a list without a change of health leads to no Event") {
  EventsRig rig;
  rig.answer.holdings = nullptr;
  rig.lists(kWell);
  rig.lists(kSick);
  rig.lists(kSick);
  REQUIRE(rig.comes_to(1));
  rig.lists(kWell);
  REQUIRE(rig.comes_to(2));
  rig.lists(kSick);
  CHECK(rig.stays_at(2));
}

TEST_CASE(
    "a resource's first list leads to Events for Unhealthy devices only, even after the resource was gone") {
  EventsRig rig;
  rig.answer.holdings = nullptr;
  CHECK(rig.stays_at(0));
  rig.events.forget("x.com/gpu");
  rig.lists(kSick);
  REQUIRE(rig.comes_to(1));
  CHECK(rig.event(0) == "Node worker-1: DeviceUnhealthy: x.com/gpu: a: Unhealthy: hot");
}

TEST_CASE("a device that goes or returns leads to an Event, and a new device does not") {
  const Inventory gone(std::vector<Device>{{.id = "a", .error = "it is gone", .gone = true}});
  const Inventory two(std::vector<Device>{{.id = "a"}, {.id = "b"}});
  using News = std::vector<HealthNews>;
  CHECK(health_news("x.com/gpu", &kWell, gone, nullptr) ==
        News{{{}, EventReason::kDeviceUnhealthy, "x.com/gpu: a: it is gone"}});
  CHECK(health_news("x.com/gpu", &gone, kWell, nullptr) ==
        News{{{}, EventReason::kDeviceHealthy, "x.com/gpu: a: Healthy again"}});
  CHECK(health_news("x.com/gpu", &kWell, two, nullptr).empty());
  CHECK(health_news("x.com/gpu", &gone, {}, nullptr).empty());
}

TEST_CASE("a refused reload leads to an Event on the Node, with the first error") {
  EventsRig rig;
  rig.events.record_refusal({"a.yaml:1:1: bad", "a.yaml:2:1: worse", "a.yaml:3:1: worst"});
  REQUIRE(rig.comes_to(1));
  CHECK(rig.event(0) ==
        "Node worker-1: ReloadRefused: the configuration was not reloaded: a.yaml:1:1: bad (and 2 more "
        "errors)");
}

TEST_CASE(
    "no Event is written unless configured, and waiting Events are dropped when the configuration changes") {
  EventsRig rig(false);
  rig.lists(kSick);
  rig.events.record_refusal({"bad"});
  CHECK(rig.stays_at(0));
  CHECK(rig.objects.asked().empty());
  rig.objects.refuse("POST", 503);
  rig.events.use(true);
  rig.events.record_refusal({"bad"});
  REQUIRE(run_until(rig.loop, [&] { return rig.objects.asked("POST") > 0; }));
  rig.events.use(false);
  rig.objects.refuse("POST", 0);
  rig.events.use(true);
  CHECK(rig.stays_at(0));
}

TEST_CASE(
    "Events are retried while the API server refuses them, and equal Events are merged in the meantime") {
  EventsRig rig;
  rig.answer.holdings = nullptr;
  rig.objects.refuse("POST", 503);
  rig.lists(kSick);
  REQUIRE(run_until(rig.loop, [&] { return rig.log.warnings().count() == 1; }));
  rig.lists(kWell);
  rig.lists(kSick);
  rig.lists(kWell);
  CHECK(rig.objects.asked("POST") == 1);  // new Events do not hasten the retry
  rig.objects.refuse("POST", 0);
  REQUIRE(rig.comes_to(2));
  CHECK(rig.event(0) == "Node worker-1: DeviceUnhealthy: x.com/gpu: a: Unhealthy: hot");
  CHECK(rig.event(1) == "Node worker-1: DeviceHealthy: x.com/gpu: a: Healthy again");
  CHECK(rig.objects.events()[1]["count"].number() == 2);
  CHECK(rig.log.warnings().count() == 1);
}

TEST_CASE("an Event that is refused for good does not delay other Events") {
  EventsRig rig;
  rig.objects.refuse("POST /api/v1/namespaces/default", 403);
  rig.lists(kSick);
  REQUIRE(rig.comes_to(1));
  CHECK(rig.event(0).starts_with("Pod uid-of-train"));
  CHECK(rig.log.warnings().count() == 1);
  CHECK(rig.objects.asked("POST /api/v1/namespaces/default") == 1);
}

TEST_CASE("an Event whose response was lost is not written again") {
  EventsRig rig;
  rig.answer.holdings = nullptr;
  rig.objects.refuse("POST", 409);
  rig.lists(kSick);
  REQUIRE(run_until(rig.loop, [&] { return rig.objects.asked("POST") == 1; }));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.objects.asked("POST") > 1; }, 50ms));
  CHECK(rig.log.warnings().count() == 0);
}

TEST_CASE("no Event is written on a pod that has ended") {
  EventsRig rig;
  rig.answer.holdings =
      std::make_shared<const Holdings>(Holdings{{"x.com/gpu", {{"a", {"ml", "gone", "main"}}}}});
  rig.lists(kSick);
  REQUIRE(rig.comes_to(1));
  REQUIRE(run_until(rig.loop, [&] { return rig.objects.asked("GET /api/v1/namespaces/ml/pods") == 1; }));
  CHECK(rig.stays_at(1));
  CHECK(rig.event(0).starts_with("Node"));
}

TEST_CASE(
    "finish() writes pending Events, and waits for an API server that does not accept them until the limit") {
  EventsRig rig;
  bool done = false;
  rig.lists(kSick);
  rig.events.finish(10s, [&] { done = true; });
  CHECK_FALSE(done);
  const auto begun = EventLoop::Clock::now();
  REQUIRE(run_until(rig.loop, [&] { return done; }));
  CHECK(rig.objects.events().size() == 2);
  CHECK(EventLoop::Clock::now() - begun < 5s);

  EventsRig away;
  away.objects.refuse("POST", 503);
  away.lists(kSick);
  done = false;
  away.events.finish(100ms, [&] { done = true; });
  REQUIRE(run_until(away.loop, [&] { return done; }));
  CHECK(away.objects.events().empty());

  EventsRig idle(false);
  done = false;
  idle.events.finish(10s, [&] { done = true; });
  CHECK_FALSE(done);
  REQUIRE(run_until(idle.loop, [&] { return done; }));
}

TEST_CASE("Events that wait for a former API server are written to the new one") {
  EventsRig rig;
  rig.answer.holdings = nullptr;
  rig.objects.refuse("POST", 503);
  rig.lists(kSick);
  REQUIRE(run_until(rig.loop, [&] { return rig.log.warnings().count() == 1; }));
  FakeCluster next;
  test::TempDir other;
  rig.server.use(ApiServerConfig{.kubeconfig = next.kubeconfig(other), .node = "worker-2", .where = {}});
  REQUIRE(run_until(rig.loop, [&] { return next.events().size() == 1; }));
  CHECK(next.events()[0]["involvedObject"]["name"].text() == "worker-2");
}

}  // namespace
}  // namespace plughost
