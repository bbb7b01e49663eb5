#include "driver/slice_publisher.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "dra/names.hpp"
#include "dra/slice_json.hpp"
#include "unit/apiserver/api_node.hpp"
#include "unit/run_until.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::FakeObjects;
using test::run_until;

namespace {

constexpr const char* kDriver = "plughost.example.com";
constexpr const char* kSlices = FakeObjects::kSlices;

Pool pool_of(std::size_t count, const std::string& resource = "example.com/camera") {
  Pool pool{.name = pool_name(FakeObjects::kNode, resource), .devices = {}, .counters = {}};
  for (std::size_t i = 0; i < count; ++i) pool.devices.edit().push_back({.name = "d" + std::to_string(i)});
  return pool;
}

std::string name_of(std::size_t index, const std::string& resource = "example.com/camera") {
  return slice_name(index, kDriver, FakeObjects::kNode, pool_name(FakeObjects::kNode, resource));
}

std::size_t devices_in(const Json& slice) {
  return slice["spec"]["devices"].array().size();
}

// A publisher on a fake API server.
struct Rig : test::ApiNode {
  NodeWatch node{server};
  int known = 0;
  int changed = 0;
  std::unique_ptr<SlicePublisher> publisher = make();

  std::unique_ptr<SlicePublisher> make() {
    return std::make_unique<SlicePublisher>(
        loop, log, server, node,
        SlicePublisher::Hooks{.known = [this] { ++known; }, .changed = [this] { ++changed; }});
  }
  void publish(const Pool& pool) { publisher->publish({{"example.com/camera", pool}}); }
  bool published() const {
    const SlicesState state = publisher->state();
    return !state.pools.empty() &&
           std::ranges::all_of(state.pools, [](const PublishedPool& pool) { return pool.published; });
  }
  bool until(const std::function<bool()>& condition) { return run_until(loop, condition, 30s); }
  // Names the driver, and publishes the pool.
  void start(const Pool& pool) {
    publisher->use(kDriver);
    publish(pool);
    REQUIRE(until([&] { return published(); }));
  }
  // Runs for as long as two requests take: what is due now has been sent, and what is not was not.
  void pass() {
    const std::size_t before = objects.asked("GET /pass");
    const auto ask = [&] {
      bool answered = false;
      const auto call = server.client()->send({.path = "/pass"}, [&](const ApiAnswer&) { answered = true; });
      REQUIRE(until([&] { return answered; }));
    };
    ask();
    ask();
    CHECK(objects.asked("GET /pass") == before + 2);
  }
  // How often it was asked which versions there are.
  std::size_t discoveries() const {
    return static_cast<std::size_t>(std::ranges::count(objects.asked(), "GET /apis/resource.k8s.io"));
  }
  std::string node_uid() const {
    return objects.get(FakeObjects::kNodes, FakeObjects::kNode)["metadata"]["uid"].text();
  }
};

}  // namespace

TEST_CASE("nothing is asked before a driver is named; then the node and the features are known") {
  Rig rig;
  rig.publish(pool_of(1));
  CHECK_FALSE(run_until(
      rig.loop, [&] { return !rig.objects.asked().empty(); }, 50ms));
  CHECK(rig.publisher->node().empty());
  CHECK_FALSE(rig.publisher->features());
  CHECK(rig.publisher->state().trouble.empty());
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value() && rig.published(); }));
  CHECK(rig.publisher->node() == FakeObjects::kNode);
  CHECK(*rig.publisher->features() == DraFeatures{});
  CHECK(rig.until([&] { return rig.known >= 1 && rig.changed >= 1; }));
  CHECK(rig.publisher->state().version == "v1");
}

TEST_CASE("a pool is published with its node, its owner and its driver, by one request for a slice") {
  Rig rig;
  rig.start(pool_of(65));
  const auto slices = rig.objects.all(kSlices);
  REQUIRE(slices.size() == 2);
  CHECK(devices_in(slices[0]) == 64);
  CHECK(devices_in(slices[1]) == 1);
  const ShownSlice shown = shown_slice(slices[1]);
  CHECK(shown.slice.name == name_of(1));
  CHECK(shown.owner.driver == kDriver);
  CHECK(shown.owner.node == FakeObjects::kNode);
  CHECK(shown.owner.node_uid == rig.node_uid());
  CHECK(shown.slice.slices == 2);
  CHECK(rig.objects.written().size() == 2);
  CHECK(rig.objects.written("POST") == 2);
  const SlicesState state = rig.publisher->state();
  REQUIRE(state.pools.size() == 1);
  CHECK(state.pools[0].pool == "worker-1/example.com/camera");
  CHECK(state.pools[0].devices == 65);
  CHECK(state.pools[0].slices == 2);
  CHECK(state.pools[0].generation == 1);
  CHECK(state.pools[0].at);
  CHECK(state.pools[0].trouble.empty());
  CHECK(state.writes == 2);
  CHECK(rig.told("a pool of devices is published") == 1);
}

TEST_CASE("one change is one write, and who starts anew writes nothing") {
  Rig rig;
  rig.start(pool_of(65));
  Pool pool = pool_of(65);
  pool.devices.edit()[3].attributes["model"] = std::string("x");
  rig.publish(pool);
  REQUIRE(rig.until([&] { return rig.objects.written("PUT") == 1 && rig.published(); }));
  CHECK(shown_slice(rig.objects.get(kSlices, name_of(0))).slice.devices[3] == pool.devices[3]);
  const std::size_t before = rig.objects.written().size();
  CHECK(before == 3);

  rig.publisher.reset();
  rig.pass();
  CHECK(rig.objects.written().size() == before);
  rig.publisher = rig.make();
  rig.start(pool);
  rig.pass();
  CHECK(rig.objects.written().size() == before);
  CHECK(rig.publisher->state().writes == 0);
}

TEST_CASE("what a kubelet wipes is there again at once, and what was deleted or edited by hand") {
  Rig rig;
  rig.start(pool_of(130));
  rig.objects.put(kSlices,
                  Json{{"metadata", Json{{"name", "foreign"}}},
                       {"spec", Json{{"driver", "gpu.example.com"}, {"nodeName", FakeObjects::kNode}}}});
  for (int wipes = 0; wipes < 2; ++wipes) {
    rig.objects.wipe(kSlices);
    REQUIRE(rig.until([&] { return rig.objects.all(kSlices).size() == 3 && rig.published(); }));
  }
  CHECK(rig.objects.written("POST") == 9);
  rig.objects.put(kSlices,
                  Json{{"metadata", Json{{"name", "foreign"}}},
                       {"spec", Json{{"driver", "gpu.example.com"}, {"nodeName", FakeObjects::kNode}}}});
  rig.objects.remove(kSlices, name_of(2));
  REQUIRE(rig.until([&] { return !rig.objects.get(kSlices, name_of(2)).is_null() && rig.published(); }));

  Json edited = rig.objects.get(kSlices, name_of(1));
  edited["spec"]["devices"] = Json::Array();
  rig.objects.put(kSlices, edited);
  REQUIRE(
      rig.until([&] { return devices_in(rig.objects.get(kSlices, name_of(1))) == 64 && rig.published(); }));
  CHECK(rig.objects.written("PUT") == 1);
  CHECK(rig.objects.written("DELETE") == 0);
  CHECK_FALSE(rig.objects.get(kSlices, "foreign").is_null());
  CHECK(rig.told("somebody had changed or deleted its ResourceSlices") >= 1);
}

TEST_CASE(
    "what is not wanted any more is deleted, what is not known yet is left, and nothing is before it is "
    "said") {
  Rig rig;
  rig.publisher->use(kDriver);
  rig.publisher->publish({{"a", pool_of(1)}, {"b", pool_of(1, "example.com/serial")}});
  REQUIRE(rig.until([&] { return rig.published(); }));
  rig.publisher = rig.make();
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
  rig.pass();
  CHECK(rig.objects.all(kSlices).size() == 2);
  rig.publisher->publish({{"a", pool_of(1)}}, {pool_name(FakeObjects::kNode, "example.com/serial")});
  REQUIRE(rig.until([&] { return rig.published(); }));
  rig.pass();
  CHECK(rig.objects.all(kSlices).size() == 2);
  rig.publish(pool_of(1));
  REQUIRE(rig.until([&] { return rig.objects.all(kSlices).size() == 1; }));
  CHECK(rig.objects.written("DELETE") == 1);
  CHECK_FALSE(rig.objects.get(kSlices, name_of(0)).is_null());
}

TEST_CASE("another driver has slices of its own, and without one there are none, nor a watch") {
  Rig rig;
  rig.start(pool_of(1));
  rig.publisher->use("other.example.com");
  const std::string other = slice_name(0, "other.example.com", FakeObjects::kNode, pool_of(1).name);
  REQUIRE(rig.until(
      [&] { return !rig.objects.get(kSlices, other).is_null() && rig.objects.all(kSlices).size() == 1; }));
  rig.publisher->publish({});
  rig.publisher->use("");
  REQUIRE(rig.until([&] {
    const auto watches = rig.server.status()->watches;
    return rig.objects.all(kSlices).empty() &&
           std::ranges::none_of(watches, [](const auto& watch) { return watch.collection == kSlices; });
  }));
  CHECK(rig.publisher->state().pools.empty());
  rig.start(pool_of(2));
  CHECK(rig.objects.all(kSlices).size() == 1);
}

TEST_CASE("an API server that is away is waited for, and then only what differs is written") {
  Rig rig;
  rig.objects.stop();
  rig.publisher->use(kDriver);
  rig.publish(pool_of(130));
  REQUIRE(rig.until([&] { return !rig.publisher->state().trouble.empty(); }));
  CHECK_FALSE(rig.published());
  rig.objects.start();
  REQUIRE(rig.until([&] { return rig.published() && rig.publisher->state().trouble.empty(); }));
  CHECK(rig.objects.written("POST") == 3);

  rig.objects.stop();
  Pool pool = pool_of(130);
  pool.devices.edit()[129].attributes["a"] = true;
  rig.publish(pool);
  REQUIRE(rig.until([&] { return !rig.publisher->state().pools[0].trouble.empty(); }));
  rig.objects.start();
  REQUIRE(rig.until([&] { return rig.published(); }));
  CHECK(rig.objects.written("POST") == 3);
  CHECK(rig.objects.written("PUT") == 1);
  CHECK(rig.told("a pool of devices is not published as it should be") == 1);
  CHECK(rig.told("a pool of devices is published") == 2);
}

TEST_CASE("410 in both forms is one list more, and what was done to slices meanwhile is put right") {
  for (const auto form : {FakeObjects::Versions::kExpired, FakeObjects::Versions::kExpiredByEvent}) {
    CAPTURE(static_cast<int>(form));
    Rig rig;
    rig.start(pool_of(65));
    const auto lists = [&] { return rig.objects.asked("GET " + std::string(kSlices) + "?limit="); };
    CHECK(lists() == 1);
    // The watch cannot tell of it.
    rig.objects.stop();
    rig.objects.remove(kSlices, name_of(0));
    rig.objects.end_watches(form);
    rig.objects.start();
    REQUIRE(rig.until([&] { return rig.objects.all(kSlices).size() == 2 && rig.published(); }));
    CHECK(lists() == 2);
    CHECK(rig.objects.written("POST") == 3);
    CHECK(rig.objects.written("PUT") == 0);
    CHECK(rig.told("a pool of devices is published again") == 1);
    CHECK(rig.until([&] { return rig.publisher->state().trouble.empty(); }));
  }
}

TEST_CASE("credentials that come later are found, and it goes on from there") {
  Rig rig;
  rig.server.use(
      ApiServerConfig{.kubeconfig = rig.tree.at("later"), .node = FakeObjects::kNode, .where = ""});
  const auto following = rig.node.follow([] {});
  rig.publisher->use(kDriver);
  rig.publish(pool_of(1));
  REQUIRE(rig.until([&] { return !rig.publisher->state().trouble.empty() && !rig.node.trouble().empty(); }));
  CHECK(rig.server.client()->state().awaits_credentials);
  rig.objects.kubeconfig(rig.tree, "later");
  REQUIRE(rig.until([&] { return rig.published(); }));
  CHECK_FALSE(rig.server.client()->state().awaits_credentials);
}

TEST_CASE("what the API server refuses for good is told once and not sent again before it is another") {
  Rig rig;
  rig.start(pool_of(1));
  rig.objects.refuse("PUT", 422);
  rig.publish(pool_of(2));
  REQUIRE(rig.until([&] { return !rig.publisher->state().pools[0].trouble.empty(); }));
  rig.pass();
  CHECK(rig.objects.asked("PUT") == 1);
  CHECK(rig.publisher->state().pools[0].trouble.find("422") != std::string::npos);
  CHECK(rig.told("a pool of devices is not published as it should be") == 1);
  rig.objects.refuse("PUT", 0);
  rig.publish(pool_of(3));
  REQUIRE(rig.until([&] { return rig.published(); }));
  CHECK(rig.publisher->state().pools[0].trouble.empty());
}

TEST_CASE("a conflict, a refusal that passes and too many requests are only a delay") {
  for (const int code : {409, 403, 429, 500}) {
    Rig rig;
    rig.start(pool_of(1));
    rig.objects.refuse("PUT", code, 1, "Retry-After: 0\r\n");
    rig.publish(pool_of(2));
    REQUIRE(rig.until([&] { return rig.published(); }));
    CHECK(rig.objects.asked("PUT") == 2);
    CHECK(rig.objects.asked("GET " + std::string(kSlices) + '/') == (code == 409 ? 1 : 0));
    CHECK(rig.publisher->state().writes == 3);  // and what was only read is none
  }
}

TEST_CASE("a request that is not answered holds up no other pool") {
  Rig rig;
  rig.publisher->use(kDriver);
  const auto publish = [&](std::size_t count) {
    rig.publisher->publish({{"a", pool_of(count)}, {"b", pool_of(count, "example.com/serial")}});
  };
  publish(1);
  REQUIRE(rig.until([&] { return rig.published(); }));
  rig.objects.hold("PUT " + std::string(kSlices) + '/' + name_of(0));
  publish(2);
  REQUIRE(
      rig.until([&] { return devices_in(rig.objects.get(kSlices, name_of(0, "example.com/serial"))) == 2; }));
  CHECK(devices_in(rig.objects.get(kSlices, name_of(0))) == 1);
  rig.objects.release();
  REQUIRE(rig.until([&] { return rig.published(); }));
}

TEST_CASE("features that are off are known before anything is published, and known again when they are on") {
  Rig rig;
  rig.objects.keep({.taints = false, .sharing = true, .partitions = false});
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
  CHECK(*rig.publisher->features() == DraFeatures{.taints = false, .sharing = true, .partitions = false});
  CHECK(rig.objects.written().empty());
  CHECK(rig.told("DRADeviceTaints, DRAPartitionableDevices") == 1);
  rig.start(pool_of(1));
  rig.objects.keep({});
  rig.objects.end_watches(FakeObjects::Versions::kExpired);
  REQUIRE(rig.until([&] { return *rig.publisher->features() == DraFeatures{}; }));
  CHECK(rig.objects.written().size() == 1);
}

TEST_CASE("an API server that takes counters only beside their users has none for us") {
  Rig rig;
  rig.objects.refuse("POST " + std::string(kSlices) + "?dryRun=All", 422, 1);
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
  CHECK(*rig.publisher->features() == DraFeatures{.partitions = false});
}

TEST_CASE("fields that are dropped from a slice are noticed, told once, and not written without end") {
  Rig rig;
  rig.objects.refuse("POST " + std::string(kSlices) + "?dryRun=All", 403);
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
  CHECK(*rig.publisher->features() == DraFeatures{});
  rig.objects.keep({.taints = false});
  Pool pool = pool_of(1);
  pool.devices.edit()[0].taints = {{.key = "plughost.io/unhealthy", .value = "gone"}};
  const int known = rig.known;
  rig.publish(pool);
  REQUIRE(rig.until([&] { return rig.published() && rig.known > known; }));
  CHECK_FALSE(rig.publisher->features()->taints);
  rig.pass();
  CHECK(rig.objects.written().size() == 1);
  CHECK(rig.told("the API server drops what its features do not have") == 1);
}

TEST_CASE("1.33 is spoken to in v1beta2, and who has neither is asked again") {
  Rig rig;
  rig.objects.serve({});
  rig.publisher->use(kDriver);
  rig.publish(pool_of(1));
  REQUIRE(rig.until([&] { return rig.publisher->state().trouble.find("1.34") != std::string::npos; }));
  CHECK(rig.told("no devices can be published: trying again and again") == 1);
  rig.objects.serve({"v1beta1", "v1beta2"});
  REQUIRE(rig.until([&] { return rig.published(); }));
  CHECK(rig.publisher->state().version == "v1beta2");
  const auto slices = rig.objects.all("/apis/resource.k8s.io/v1beta2/resourceslices");
  REQUIRE(slices.size() == 1);
  CHECK(slices[0]["apiVersion"].text() == "resource.k8s.io/v1beta2");
}

TEST_CASE("a version that goes while it is spoken is found out by the watch, and all is shown in the other") {
  Rig rig;
  rig.objects.serve({"v1beta2"});
  rig.start(pool_of(65));
  const auto before = rig.discoveries();
  rig.objects.serve({"v1"});
  rig.objects.end_watches();
  REQUIRE(rig.until([&] { return rig.objects.all(kSlices).size() == 2 && rig.published(); }));
  CHECK(rig.publisher->state().version == "v1");
  CHECK(rig.discoveries() == before + 1);
  CHECK(rig.told("resource.k8s.io is served in another version than before") == 1);
  CHECK(rig.publisher->state().trouble.empty());
  // And back, as a control plane that is downgraded.
  rig.objects.serve({"v1beta2"});
  rig.objects.wipe("/apis/resource.k8s.io/v1beta2/resourceslices");
  rig.objects.end_watches();
  const std::string former = "/apis/resource.k8s.io/v1beta2/resourceslices";
  REQUIRE(rig.until([&] { return rig.objects.all(former).size() == 2 && rig.published(); }));
  CHECK(rig.publisher->state().version == "v1beta2");
}

TEST_CASE("a version that goes while it is spoken is found out by a write, which is written in the other") {
  Rig rig;
  rig.objects.serve({"v1beta2"});
  rig.start(pool_of(1));
  rig.objects.serve({"v1"});
  rig.publish(pool_of(2));
  REQUIRE(rig.until([&] { return rig.objects.all(kSlices).size() == 1 && rig.published(); }));
  CHECK(rig.publisher->state().version == "v1");
  const auto slices = rig.objects.all(kSlices);
  CHECK(devices_in(slices[0]) == 2);
}

TEST_CASE("a version that goes with nothing in its place is told, and asked for until there is one") {
  Rig rig;
  rig.start(pool_of(1));
  rig.objects.serve({"v1beta1"});
  rig.objects.end_watches();
  REQUIRE(rig.until([&] { return rig.publisher->state().trouble.find("1.34") != std::string::npos; }));
  rig.objects.serve({"v1"});
  REQUIRE(rig.until([&] { return rig.published() && rig.publisher->state().trouble.empty(); }));
  CHECK(rig.told("resource.k8s.io is served in another version than before") == 0);
}

TEST_CASE("who doubts the version again and again has it asked for once in a while") {
  Rig rig;
  rig.start(pool_of(1));
  const auto before = rig.discoveries();
  const auto doubt = [&] {
    for (int i = 0; i < 100; ++i) rig.publisher->doubt_version();
  };
  doubt();
  REQUIRE(rig.until([&] { return rig.discoveries() == before + 1; }));
  rig.pass();
  doubt();
  rig.pass();
  CHECK(rig.discoveries() == before + 1);
  CHECK(rig.publisher->state().version == "v1");
  CHECK(rig.published());
  REQUIRE(rig.until([&] { return rig.discoveries() == before + 2; }));
}

TEST_CASE("where both are served v1 is spoken") {
  Rig rig;
  rig.objects.serve({"v1beta2", "v1"});
  rig.start(pool_of(1));
  CHECK(rig.publisher->state().version == "v1");
}

TEST_CASE("a Node that is deleted and made again owns the slices, and nothing is made while there is none") {
  Rig rig;
  rig.start(pool_of(1));
  const Json former = rig.objects.get(FakeObjects::kNodes, FakeObjects::kNode);
  rig.objects.remove(FakeObjects::kNodes, FakeObjects::kNode);
  REQUIRE(rig.until([&] { return !rig.publisher->state().trouble.empty(); }));
  rig.objects.remove(kSlices, name_of(0));
  REQUIRE(rig.until([&] { return !rig.published(); }));
  rig.pass();
  CHECK(rig.objects.all(kSlices).empty());
  Json node = former;
  node["metadata"]["uid"] = "another-uid";
  rig.objects.put(FakeObjects::kNodes, node);
  REQUIRE(rig.until([&] { return rig.published(); }));
  CHECK(shown_slice(rig.objects.get(kSlices, name_of(0))).owner.node_uid == "another-uid");
  CHECK(rig.publisher->state().trouble.empty());
}

TEST_CASE("another API server is told everything, and without one it is waited") {
  Rig rig;
  rig.start(pool_of(1));
  FakeObjects other;
  test::TempDir directory;
  rig.server.use(
      ApiServerConfig{.kubeconfig = other.kubeconfig(directory), .node = FakeObjects::kNode, .where = ""});
  REQUIRE(rig.until([&] { return other.all(kSlices).size() == 1 && rig.published(); }));
  rig.server.use(std::nullopt);
  CHECK_FALSE(rig.publisher->state().trouble.empty());
  CHECK_FALSE(rig.published());
  rig.server.use(rig.config());
  REQUIRE(rig.until([&] { return rig.published(); }));
  CHECK(rig.objects.written().size() == 1);
}

TEST_CASE("each feature that is off is found before anything is published, by itself") {
  for (const DraFeatures features :
       {DraFeatures{.taints = false}, DraFeatures{.sharing = false}, DraFeatures{.partitions = false}}) {
    Rig rig;
    rig.objects.keep(features);
    rig.publisher->use(kDriver);
    REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
    CHECK(*rig.publisher->features() == features);
  }
}

TEST_CASE("each feature that drops a field of a slice is off from then on, and the others are as before") {
  Rig rig;
  rig.objects.keep({.sharing = false});
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
  rig.objects.keep({.taints = false, .sharing = false});
  Pool pool = pool_of(1);
  pool.devices.edit()[0].taints = {{.key = "plughost.io/unhealthy", .value = "gone"}};
  rig.publish(pool);
  REQUIRE(rig.until([&] { return !rig.publisher->features()->taints; }));
  CHECK(*rig.publisher->features() == DraFeatures{.taints = false, .sharing = false});

  Rig shared;
  shared.publisher->use(kDriver);
  REQUIRE(shared.until([&] { return shared.publisher->features().has_value(); }));
  shared.objects.keep({.sharing = false});
  pool = pool_of(1);
  pool.devices.edit()[0].several_claims = true;
  shared.publish(pool);
  REQUIRE(shared.until([&] { return shared.publisher->features() != DraFeatures{}; }));
  CHECK(*shared.publisher->features() == DraFeatures{.sharing = false});

  Rig parts;
  parts.publisher->use(kDriver);
  REQUIRE(parts.until([&] { return parts.publisher->features().has_value(); }));
  parts.objects.keep({.partitions = false});
  pool = pool_of(1);
  pool.counters = {{.name = "card", .counters = {{"memory", 1}}}};
  pool.devices.edit()[0].counters = {{.set = "card", .counters = {{"memory", 1}}}};
  parts.publish(pool);
  REQUIRE(parts.until([&] { return parts.publisher->features() != DraFeatures{}; }));
  CHECK(*parts.publisher->features() == DraFeatures{.partitions = false});
}

TEST_CASE(
    "what features there are is asked again after a failure that passes, and stays after one that does not") {
  const std::string trial = "POST " + std::string(kSlices) + "?dryRun=All";
  for (const int code : {429, 500, 503}) {
    Rig rig;
    rig.objects.keep({.taints = false});
    rig.objects.refuse(trial, code, 1);
    rig.publisher->use(kDriver);
    REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
    CHECK_FALSE(rig.publisher->features()->taints);
    CHECK(rig.objects.asked(trial) == 2);
    if (code != 429) continue;
    rig.start(pool_of(1));
    rig.objects.refuse(trial, 403);
    rig.objects.end_watches(FakeObjects::Versions::kExpired);
    REQUIRE(rig.until([&] { return rig.objects.asked(trial) == 3; }));
    rig.pass();
    CHECK_FALSE(rig.publisher->features()->taints);
  }
}

TEST_CASE("the API server is asked again when it says so, and not before") {
  Rig rig;
  rig.objects.refuse("GET /apis/resource.k8s.io", 503, 1, "Retry-After: 1\r\n");
  const auto began = std::chrono::steady_clock::now();
  rig.start(pool_of(1));
  CHECK(std::chrono::steady_clock::now() - began >= 1s);
}

TEST_CASE("the same driver once more, and the same pools, change nothing and are told nobody") {
  Rig rig;
  rig.start(pool_of(1));
  rig.pass();
  const std::size_t before = rig.objects.asked().size();
  const int changed = rig.changed;
  const int known = rig.known;
  rig.publisher->use(kDriver);
  rig.publish(pool_of(1));
  rig.pass();
  CHECK(rig.objects.asked().size() == before + 2);
  CHECK(rig.changed == changed);
  CHECK(rig.known == known);
}

TEST_CASE(
    "what is deleted is what was seen, and nothing is left when it is gone and nothing else is wanted") {
  Rig rig;
  CHECK_FALSE(rig.publisher->state().nothing_left);
  rig.publisher->use(kDriver);
  REQUIRE(rig.until([&] { return rig.publisher->features().has_value(); }));
  rig.pass();
  CHECK_FALSE(rig.publisher->state().nothing_left);  // nobody has said what there is to publish
  rig.start(pool_of(1));
  CHECK_FALSE(rig.publisher->state().nothing_left);
  const std::string uid = rig.objects.get(kSlices, name_of(0))["metadata"]["uid"].text();
  REQUIRE_FALSE(uid.empty());
  rig.objects.hold("DELETE");
  rig.publisher->publish({});
  REQUIRE(rig.until([&] { return rig.objects.asked("DELETE") == 1; }));
  CHECK_FALSE(rig.publisher->state().nothing_left);
  rig.objects.release();
  REQUIRE(rig.until([&] { return rig.publisher->state().nothing_left; }));
  const auto written = rig.objects.written();
  CHECK(Json::parse(written.back().body)["preconditions"]["uid"].text() == uid);
}
