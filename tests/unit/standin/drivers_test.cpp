#include <doctest/doctest.h>
#include <grpcpp/grpcpp.h>

#include <mutex>

#include "pluginregistration/v1/pluginregistration.grpc.pb.h"
#include "standin/standin_kubelet.hpp"
#include "unit/kubelet/driver_process.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const ClaimRef kOne{.uid = "u1", .name_space = "space", .name = "one"};
const ClaimRef kTwo{.uid = "u2", .name_space = "space", .name = "two"};
const std::pair<std::string, std::string> kDevice{"pool", "a"};

// A kubelet and a driver's process on one node.
struct Node {
  explicit Node(StandInKubelet::Options options = {}) {
    directory.directory("registry");
    directory.directory("plugins");
    options.directory = directory.at("plugins");
    options.plugins_registry = directory.at("registry");
    options.health_retry = 100ms;
    kubelet.emplace(std::move(options), [this](const KubeletEvent& event) {
      const std::lock_guard lock(mutex);
      events.push_back(event);
    });
    start();
  }

  void start() { driver.emplace(directory.at("registry")); }
  DriverState now() const { return kubelet->state().driver(kDriver); }
  bool run_until(const std::function<bool(const DriverState&)>& condition) {
    return test::run_until(driver->loop, [&] { return condition(now()); });
  }
  bool run_until_connected(std::size_t registrations) {
    return run_until([=](const DriverState& state) {
      return state.registrations == registrations && state.registered() && state.endpoints.back().connected;
    });
  }
  ClaimsAnswer prepare(const std::vector<ClaimRef>& claims) {
    ClaimsAnswer answer;
    driver->during([&] { answer = kubelet->prepare("", claims); });
    return answer;
  }
  ClaimsAnswer unprepare(const std::vector<ClaimRef>& claims) {
    ClaimsAnswer answer;
    driver->during([&] { answer = kubelet->unprepare(kDriver, claims); });
    return answer;
  }
  bool has_event(KubeletEvent::Type type, const std::string& text) {
    const std::lock_guard lock(mutex);
    for (const KubeletEvent& event : events) {
      if (event.type == type && event.resource == kDriver && event.text == text) return true;
    }
    return false;
  }

  TempDir directory;
  std::mutex mutex;
  std::vector<KubeletEvent> events;
  std::optional<DriverProcess> driver;
  std::optional<StandInKubelet> kubelet;  // goes first: it calls the driver
};

std::vector<PreparedDevice> devices(const std::string& device) {
  return {{.requests = {"r"},
           .pool = "pool",
           .device = device,
           .cdi = {"x.com/y=" + device},
           .share_id = std::nullopt}};
}

}  // namespace

TEST_CASE(
    "a driver in plugins_registry is registered and told so, and called by the version that it names first") {
  Node node;
  REQUIRE(node.run_until_connected(1));
  REQUIRE(test::run_until(node.driver->loop, [&] { return node.driver->owner.registered == 1; }));
  CHECK(node.now().endpoints[0].path == node.driver->socket());
  CHECK(node.now().endpoints[0].service == "v1.DRAPlugin");
  CHECK(node.now().versions.size() == 3);
  CHECK(node.kubelet->state().resources.empty());
  CHECK(node.has_event(KubeletEvent::Type::kDriverRegistered, node.driver->socket()));

  PreparedDevice shared = devices("a")[0];
  shared.share_id = "s";
  node.driver->owner.prepare_outcomes = {{"u1", std::vector{shared}}, {"u2", devices("b")}};
  const ClaimsAnswer answer = node.prepare({kOne, kTwo});
  CHECK(answer.error.empty());
  CHECK(answer.outcomes == node.driver->owner.prepare_outcomes);
  CHECK(node.driver->owner.prepared == std::vector<std::vector<ClaimRef>>{{kOne, kTwo}});
  const auto claims = node.kubelet->state().claims;
  REQUIRE(claims.size() == 2);
  CHECK(claims.at("u2").ref == kTwo);
  CHECK(claims.at("u2").driver == kDriver);
  CHECK(claims.at("u2").prepared);
  CHECK(claims.at("u2").devices == devices("b"));
}

TEST_CASE("a kubelet of 1.33 calls by v1beta1, and reads no health") {
  Node node({.newer_dra = false});
  REQUIRE(node.run_until_connected(1));
  CHECK(node.now().endpoints[0].service == "v1beta1.DRAPlugin");
  PreparedDevice shared = devices("a")[0];
  shared.share_id = "s";
  node.driver->owner.prepare_outcomes = {{"u1", std::vector{shared}}};
  CHECK(node.prepare({kOne}).outcomes.at("u1") == PrepareOutcome(devices("a")));
  node.driver->owner.unprepare_outcomes = {{"u1", ""}};
  CHECK(node.unprepare({kOne}).error.empty());
  CHECK(node.kubelet->state().claims.empty());
  CHECK(node.now().health_streams_ever == 0);
}

TEST_CASE("what the driver refuses is the pod's event, and the claim is not prepared") {
  Node node;
  REQUIRE(node.run_until_connected(1));
  node.driver->owner.prepare_outcomes = {{"u1", "it is gone"}, {"u2", devices("b")}};
  const ClaimsAnswer answer = node.prepare({kOne, kTwo});
  CHECK(answer.error == "NodePrepareResources failed for ResourceClaim one: it is gone");
  CHECK(answer.outcomes.at("u2") == PrepareOutcome(devices("b")));
  CHECK_FALSE(node.kubelet->state().claims.at("u1").prepared);
  CHECK(node.kubelet->state().claims.at("u1").devices.empty());
  node.driver->owner.drops = true;
  CHECK(node.prepare({kOne}).error.starts_with("NodePrepareResources: rpc error: code = Unavailable"));
  CHECK(node.unprepare({kOne}).error.starts_with("NodeUnprepareResources: rpc error: code = Unavailable"));
  CHECK(node.kubelet->state().claims.contains("u1"));
  node.driver->owner.drops = false;
  node.driver->owner.unprepare_outcomes = {{"u1", "busy"}};
  CHECK(node.unprepare({kOne}).error == "NodeUnprepareResources failed for ResourceClaim one: busy");
}

TEST_CASE(
    "over a kubelet's restart the driver is registered again, and claims are remembered, but not as "
    "prepared") {
  Node node;
  REQUIRE(node.run_until_connected(1));
  node.driver->owner.prepare_outcomes = {{"u1", devices("a")}};
  CHECK(node.prepare({kOne}).error.empty());
  node.driver->during([&] { node.kubelet->restart(); });
  REQUIRE(node.run_until_connected(2));
  REQUIRE(test::run_until(node.driver->loop, [&] { return node.driver->owner.registered == 2; }));
  CHECK_FALSE(node.kubelet->state().claims.at("u1").prepared);
  // The trap: an answer is put after the one before.
  node.driver->owner.prepare_outcomes = {{"u1", devices("b")}};
  CHECK(node.prepare({kOne}).error.empty());
  const RememberedClaim claim = node.kubelet->state().claims.at("u1");
  CHECK(claim.prepared);
  REQUIRE(claim.devices.size() == 2);
  CHECK(claim.devices[0].device == "a");
  CHECK(claim.devices[1].device == "b");
}

TEST_CASE("when a driver ends, its name goes and it is not registered; the next process is") {
  Node node;
  REQUIRE(node.run_until_connected(1));
  const std::string first = node.driver->socket();
  node.driver.reset();
  REQUIRE(node.kubelet->wait_for(
      [](const KubeletState& state) { return !state.driver(kDriver).registered(); }, 10s));
  CHECK(node.has_event(KubeletEvent::Type::kDriverGone, first));
  CHECK(node.kubelet->prepare(kDriver, {kOne}).error == "DRA driver plughost.example.com is not registered");
  CHECK(node.kubelet->unprepare(kDriver, {kOne}).error ==
        "DRA driver plughost.example.com is not registered");
  node.start();
  REQUIRE(node.run_until_connected(2));
  CHECK(node.now().endpoints.size() == 1);
}

TEST_CASE("of two endpoints of a driver the newest that is connected is called") {
  Node node;
  REQUIRE(node.run_until_connected(1));
  node.driver->owner.prepare_outcomes = {{"u1", devices("a")}};
  std::optional<DriverProcess> next(node.directory.at("registry"));
  const auto both = [&](const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      test::run_once(node.driver->loop);
      if (next) test::run_once(next->loop);
    }
    return condition();
  };
  REQUIRE(both([&] {
    const DriverState state = node.now();
    return state.endpoints.size() == 2 && state.endpoints[1].connected;
  }));
  next->owner.prepare_outcomes = {{"u1", devices("b")}};
  ClaimsAnswer answer;
  std::atomic<bool> done = false;
  std::thread call([&] {
    answer = node.kubelet->prepare("", {kOne});
    done = true;
  });
  REQUIRE(both([&] { return done.load(); }));
  call.join();
  CHECK(answer.outcomes.at("u1") == PrepareOutcome(devices("b")));
  next.reset();
  REQUIRE(node.run_until([](const DriverState& state) { return state.endpoints.size() == 1; }));
  CHECK(node.prepare({kOne}).outcomes.at("u1") == PrepareOutcome(devices("a")));
}

TEST_CASE("the health of devices is read unasked, and a new state stands in less than two seconds") {
  Node node;
  REQUIRE(node.run_until([](const DriverState& state) { return state.health_streams == 1; }));
  node.driver->endpoint->set_health({{.pool = "pool", .devices = {{.device = "a", .healthy = true}}}});
  REQUIRE(node.run_until([](const DriverState& state) {
    const auto found = state.health.find(kDevice);
    return found != state.health.end() && found->second.healthy;
  }));
  CHECK(node.now().health.at(kDevice).known);
  CHECK(node.now().health.at(kDevice).holds > 24h * 365);
  const auto asked = std::chrono::steady_clock::now();
  node.driver->endpoint->set_health({{.pool = "pool", .devices = {{.device = "a", .message = "hot"}}}});
  REQUIRE(node.run_until([](const DriverState& state) {
    const auto found = state.health.find(kDevice);
    return found != state.health.end() && !found->second.healthy;
  }));
  CHECK(std::chrono::steady_clock::now() - asked < 2s);
  CHECK(node.now().health.at(kDevice).message == "hot");
}

TEST_CASE(
    "the end of an old stream clears the driver's health, and the newest state stands again within five "
    "seconds") {
  Node node;
  REQUIRE(node.run_until_connected(1));
  node.driver->endpoint->set_health({{.pool = "pool", .devices = {{.device = "a", .healthy = true}}}});
  std::optional<DriverProcess> next(node.directory.at("registry"));
  const auto both = [&](const std::function<bool(const DriverState&)>& condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition(node.now()) && std::chrono::steady_clock::now() < end) {
      if (node.driver) test::run_once(node.driver->loop);
      test::run_once(next->loop);
    }
    return condition(node.now());
  };
  REQUIRE(both(
      [](const DriverState& state) { return state.health_streams == 2 && state.health.contains(kDevice); }));
  next->endpoint->set_health({{.pool = "pool", .devices = {{.device = "a", .message = "newest"}}}});
  REQUIRE(both([](const DriverState& state) {
    const auto found = state.health.find(kDevice);
    return found != state.health.end() && found->second.message == "newest";
  }));
  node.driver.reset();
  const auto ended = std::chrono::steady_clock::now();
  REQUIRE(both([](const DriverState& state) { return state.health_streams == 1; }));
  REQUIRE(both([](const DriverState& state) {
    const auto found = state.health.find(kDevice);
    return found != state.health.end() && found->second.message == "newest";
  }));
  CHECK(std::chrono::steady_clock::now() - ended < 5s);
}

TEST_CASE("a driver that speaks nothing that the kubelet speaks is told so") {
  struct Silent final : pluginregistration::Registration::CallbackService {
    grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                      const pluginregistration::InfoRequest*,
                                      pluginregistration::PluginInfo* answer) override {
      answer->set_type("DRAPlugin");
      answer->set_name("old.example.com");
      answer->add_supported_versions("v1alpha3.Node");
      auto* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
    grpc::ServerUnaryReactor* NotifyRegistrationStatus(
        grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus*,
        pluginregistration::RegistrationStatusResponse*) override {
      auto* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
  } service;
  Node node;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + node.directory.at("registry/old.sock").string(),
                           grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  REQUIRE(node.kubelet->wait_for(
      [](const KubeletState& state) { return !state.driver("old.example.com").refusals.empty(); }, 10s));
  const DriverState state = node.kubelet->state().driver("old.example.com");
  CHECK_FALSE(state.registered());
  CHECK(
      state.refusals[0].starts_with("invalid supported gRPC versions of DRA driver plugin old.example.com"));
  node.kubelet->stop();
  server->Shutdown(std::chrono::system_clock::now());
}
