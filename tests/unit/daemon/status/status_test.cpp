#include "daemon/status/status.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

const WallTime kThen{std::chrono::microseconds(1'763'748'000'000'001)};
const std::string kThenText = "2025-11-21T18:00:00.000001Z";

// Returns a resource with these devices, whose health is known since kThen.
ResourceStatus resource_with(std::vector<Device> devices) {
  ResourceStatus resource{.name = "x.example/a", .entry = "x.example/{name}"};
  resource.health_times.record({}, devices, kThen);
  resource.snapshot = std::make_shared<const ResourceSnapshot>(ResourceSnapshot{
      .resource = resource.name, .inventory = Inventory(std::move(devices)), .spec = nullptr});
  return resource;
}

// Returns a resource with amy, which is Healthy, and token, which is Unhealthy and has three shares.
ResourceStatus resource() {
  Device amy{.id = "amy", .numa_nodes = {0, 1}, .nodes = {{.host_path = "/dev/amy"}}};
  Device token{.id = "token", .error = "gone", .replicas = 3};
  return resource_with({amy, token});
}

Holdings holdings() {
  return {{"x.example/a",
           {{"amy", {.pod_namespace = "default", .pod = "pod-a", .container = "main"}},
            {"token::2", {.pod_namespace = "", .pod = "uid-b", .container = "side"}},
            {"unknown", {.pod_namespace = "", .pod = "uid-c", .container = "main"}}}},
          {"x.example/b", {{"amy", {.pod_namespace = "", .pod = "uid-d", .container = "main"}}}}};
}

}  // namespace

TEST_CASE("a time is a text in JSON, and a missing time is null") {
  CHECK(time_json(kThen) == Json(kThenText));
  CHECK(time_json(WallTime()).is_null());
  CHECK(time_json(std::nullopt).is_null());
}

TEST_CASE("every stage has its own name") {
  CHECK(std::string(name_of(Stage::kWaiting)) == "waiting");
  CHECK(std::string(name_of(Stage::kRegistering)) == "registering");
  CHECK(std::string(name_of(Stage::kAttached)) == "attached");
  CHECK(std::string(name_of(Stage::kBackingOff)) == "backing off");
}

TEST_CASE("the numbers of healthy, unhealthy, held and drained devices count each share") {
  const Holdings held = holdings();
  const ResourceStatus::Counts counts = resource().counts(&held);
  CHECK(counts.healthy == 1);
  CHECK(counts.unhealthy == 3);
  CHECK(counts.held == 2);
  CHECK(resource().counts(nullptr).held == 0);
  CHECK(counts.drained == 0);
  const ResourceStatus drained =
      resource_with({{.id = "0", .replicas = 2, .reasons = {Reason::drain("drained")}}, {.id = "1"}});
  CHECK(drained.counts(nullptr).drained == 2);
}

TEST_CASE("a drained device is in the status, even if no resource lists the device") {
  DaemonStatus status;
  status.drains.set({"x.example/a", "amy"}, {.reason = "fan", .since = kThen, .until = kThen + 1us});
  status.drains.set({"x.example/b", "bob"}, {.reason = "", .since = kThen});
  CHECK(status.json()["drains"].dump() ==
        R"([{"resource":"x.example/a","device":"amy","reason":"fan","since":")" + kThenText +
            R"(","until":"2025-11-21T18:00:00.000002Z"},)"
            R"({"resource":"x.example/b","device":"bob","reason":"","since":")" +
            kThenText + R"(","until":null}])");
}

TEST_CASE("the JSON of a device has the device's health, and the holders of its shares") {
  const Holdings held = holdings();
  CHECK(resource().devices_json(&held).dump() ==
        R"([{"id":"amy","health":"Healthy","reason":"","since":")" + kThenText +
            R"(","numa":[0,1],"nodes":["/dev/amy"],"replicas":1,)"
            R"("holders":[{"id":"amy","namespace":"default","pod":"pod-a","container":"main"}]},)"
            R"({"id":"token","health":"Unhealthy","reason":"gone","since":")" +
            kThenText +
            R"(","numa":[],"nodes":[],"replicas":3,)"
            R"("holders":[{"id":"token::2","namespace":"","pod":"uid-b","container":"side"}]}])");
  const Json nobody_known = resource().devices_json(nullptr);
  for (const Json& device : nobody_known.array()) CHECK(device["holders"].array().empty());
}

TEST_CASE("an id that two pods hold counts once, and both are shown") {
  const Holder a{.pod_namespace = "default", .pod = "pod-a", .container = "main"};
  const Holder z{.pod_namespace = "default", .pod = "pod-z", .container = "main"};
  const Holdings held{{"x.example/a", {{"amy", a}, {"amy", z}, {"token::2", z}}}};
  CHECK(resource().counts(&held).held == 2);
  CHECK(resource().devices_json(&held).array().front()["holders"].array().size() == 2);
}

TEST_CASE("the holders of a device's shares are in the order of the shares") {
  ResourceStatus told = resource_with({{.id = "gpu", .replicas = 12}});
  const Holder pod{.pod_namespace = "default", .pod = "pod", .container = "main"};
  const Holdings held{{told.name, {{"gpu::10", pod}, {"gpu::2", pod}, {"gpu::12", pod}, {"gpu::0", pod}}}};
  std::string ids;
  const Json devices = told.devices_json(&held);
  for (const Json& holder : devices.array().front()["holders"].array()) ids += holder["id"].text() + ' ';
  CHECK(ids == "gpu::0 gpu::2 gpu::10 ");
}

TEST_CASE("the JSON of a resource has the resource's stage, error and devices") {
  ResourceStatus told = resource();
  told.stage = Stage::kBackingOff;
  told.since = kThen;
  told.error = "refused";
  told.error_at = kThen + 1us;
  told.next_try = kThen + 2us;
  told.disagreement = "it counts another";
  const Json json = told.json(nullptr);
  Json without_list = json;
  without_list["list"] = Json();
  CHECK(without_list.dump() ==
        R"({"name":"x.example/a","entry":"x.example/{name}","stage":"backing off","since":")" + kThenText +
            R"(","trouble":"refused","troubleAt":"2025-11-21T18:00:00.000002Z",)"
            R"("nextTry":"2025-11-21T18:00:00.000003Z","disagreement":"it counts another",)"
            R"("devices":{"healthy":1,"unhealthy":3,"held":0},"list":null})");
  CHECK(json["list"].array().size() == 2);
  CHECK(resource().json(nullptr)["nextTry"].is_null());
}

TEST_CASE("the JSON of the API server has plughost's identity, the last contact, and each watch") {
  DaemonStatus status;
  status.api_server = ApiServerStatus{
      .server = "https://10.0.0.1:6443",
      .identity = "/etc/kubernetes/kubelet.conf",
      .node = "n",
      .heard_at = kThen,
      .error = "down",
      .warnings = {"trusts anybody"},
      .watches = {{.collection = "/api/v1/nodes", .objects = 1, .heard_at = std::nullopt, .error = "403"}},
      .requests = {{.verb = "list", .code = 200, .count = 1}}};
  CHECK(
      status.json()["apiServer"].dump() ==
      R"({"server":"https://10.0.0.1:6443","identity":"/etc/kubernetes/kubelet.conf","node":"n","heardAt":")" +
          kThenText +
          R"(","trouble":"down","warnings":["trusts anybody"],"watches":[{"collection":"/api/v1/nodes",)"
          R"("objects":1,"heardAt":null,"trouble":"403"}]})");
}

TEST_CASE("the JSON of the daemon has the kubelet, the configuration and the resources") {
  DaemonStatus status{.version = "1.2", .node = "node-1", .started_at = kThen};
  status.kubelet = {.present = true, .directory = "/k", .since = kThen, .process = 42, .unverified = "old"};
  status.configuration = {.files = {"/c.yaml", "/d.yaml"},
                          .hash = 0x1f,
                          .loaded_at = kThen,
                          .others = {{.name = "x.com/a", .where = "/c.yaml:2:3", .why = "no"}},
                          .refused_at = std::nullopt,
                          .errors = {"/d.yaml:1:1: bad"}};
  status.holders_unknown = "nobody tells";
  CHECK(
      status.json().dump() ==
      R"({"version":"1.2","node":"node-1","startedAt":")" + kThenText +
          R"(","kubelet":{"present":true,"directory":"/k","since":")" + kThenText +
          R"(","process":42,"unverified":"old"},"apiServer":null,"configuration":{"files":["/c.yaml","/d.yaml"],"hash":"000000000000001f",)"
          R"("loadedAt":")" +
          kThenText +
          R"(","refusedAt":null,"errors":["/d.yaml:1:1: bad"],"trialUntil":null,"givenUpAt":null,"givenUpWhy":"","notHere":[{"entry":"x.com/a","where":"/c.yaml:2:3","why":"no"}]},"holdersUnknown":"nobody tells","drains":[],"problems":[],"resources":[]})");
  status.kubelet = {};
  status.configuration.refused_at = kThen;
  status.resources = {resource()};
  status.holdings = std::make_shared<const Holdings>(holdings());
  const Json json = status.json();
  CHECK(json["kubelet"].dump() ==
        R"({"present":false,"directory":"","since":null,"process":null,"unverified":""})");
  CHECK(json["configuration"]["refusedAt"].text() == kThenText);
  CHECK(json["unmatched"].is_null());
  status.configuration.trial_until = kThen;
  CHECK(status.json()["configuration"]["trialUntil"].text() == kThenText);
  CHECK(status.json()["configuration"]["givenUpAt"].is_null());
  status.configuration.given_up_at = kThen;
  status.configuration.given_up_why = "nobody has kept it";
  CHECK(status.json()["configuration"]["givenUpAt"].text() == kThenText);
  CHECK(status.json()["configuration"]["givenUpWhy"].text() == "nobody has kept it");
  status.entries = {{.name = "x.example/a", .where = "c:1:1", .unmatched = {"only[0]", "replicas.*T4*"}}};
  const Json told = status.json();
  REQUIRE(told["unmatched"].array().size() == 2);
  CHECK(told["unmatched"].array()[1].dump() ==
        R"({"entry":"x.example/a","where":"c:1:1","pattern":"replicas.*T4*"})");
  CHECK(told["noDevices"].is_null());
  status.entries = {{.name = "x.example/a", .where = "c:1:1", .no_devices = "no such path /dev/a"},
                    {.name = "x.example/b", .where = "c:2:1"}};
  CHECK(status.json()["noDevices"].dump() ==
        R"([{"entry":"x.example/a","where":"c:1:1","why":"no such path /dev/a"}])");
  REQUIRE(json["resources"].array().size() == 1);
  CHECK(json["resources"].array()[0]["devices"]["held"].number() == 2);
}

TEST_CASE(
    "shares that pods hold by unlisted ids are Unhealthy and adopted, and the reason names the holder") {
  const ResourceStatus adopted = resource_with(
      {{.id = "0", .replicas = 5, .reasons = {Reason::holder("2 of its 5 shares held by a/b", {1, 2})}},
       {.id = "1", .reasons = {Reason::holder("held by a/b", {0})}},
       {.id = "2", .error = "sick", .replicas = 3, .reasons = {Reason::holder("held by a/b", {0})}}});
  const ResourceStatus::Counts counts = adopted.counts(nullptr);
  CHECK(counts.healthy == 3);
  CHECK(counts.unhealthy == 6);
  CHECK(counts.adopted == 3);
  const Json devices = adopted.devices_json(nullptr);
  CHECK(devices.array()[0]["health"].text() == "Healthy");
  CHECK(devices.array()[0]["reason"].text() == "2 of its 5 shares held by a/b");
  CHECK(devices.array()[1]["health"].text() == "Unhealthy");
  CHECK(devices.array()[1]["reason"].text() == "held by a/b");
  CHECK(devices.array()[2]["reason"].text() == "held by a/b; and by itself: sick");
}
