// Checks the lists that the kubelet receives, and plughost's answers for their devices: cases 8 to 17, 35,
// 36, 38 and 40 of the conformance list.

#include <doctest/doctest.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "model/device/names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

void configure_and_start(Node& node, const std::string& resources) {
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon();
}

std::string ports(const Node& node) {
  return "- {name: " + kPort + ", groups: [{paths: [{path: \"" + node.path("dev/tty*") +
         "\", mountPath: \"/dev/modem{n}\"}]}], id: \"{target}-{name}\"}\n";
}

std::set<std::string> distinct(const std::vector<std::string>& ids) { return {ids.begin(), ids.end()}; }

}  // namespace

TEST_CASE("7.8 the first list is sent within 100 ms of the stream's opening") {
  Node node(Node::Options{.registration = each_registration()});
  configure_and_start(node, counted("example.com/a", 1000));
  REQUIRE(node.attached({"example.com/a"}));
  const ResourceState resource = node.of("example.com/a");
  CHECK(*resource.first_list - *resource.stream_opened <= limit(100ms));
}

TEST_CASE("7.9 the first list is complete, never an empty placeholder") {
  std::mutex mutex;
  std::vector<std::size_t> lists;
  Node node(each_kubelet());
  constexpr std::size_t kFiles = 500;
  for (std::size_t i = 0; i < kFiles; ++i) node.files().file("gophers/" + std::to_string(i));
  node.configure(listed(kGopher, node.path("gophers")));
  node.start_kubelet({}, [&](const KubeletEvent& event) {
    const std::lock_guard lock(mutex);
    if (event.type == KubeletEvent::Type::kList) lists.push_back(event.devices);
  });
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  node.kubelet().restart();
  REQUIRE(node.attached({kGopher}));
  CHECK(eventually([&] {
    const std::lock_guard lock(mutex);
    return lists.size() >= 2;
  }));
  const std::lock_guard lock(mutex);
  CHECK(std::ranges::all_of(lists, [](std::size_t devices) { return devices == kFiles; }));
}

TEST_CASE("7.10 without devices, an empty list is sent and the stream stays open") {
  Node node;
  configure_and_start(node, listed(kGopher, node.path("gophers")));
  REQUIRE(node.attached({kGopher}));
  CHECK(node.of(kGopher).lists == 1);
  CHECK(node.of(kGopher).devices->empty());
  node.files().file("gophers/first");  // creates the directory, too
  CHECK(node.healthy(kGopher, "first"));
  CHECK(node.of(kGopher).streams_ever == 1);
}

TEST_CASE("7.11 a hot-plugged device is listed within 1 s") {
  Node node;
  node.files().file("gophers/one");
  node.files().directory("dev");
  configure_and_start(node, listed(kGopher, node.path("gophers")) + ports(node));
  REQUIRE(node.attached({kGopher, kPort}));
  node.files().file("gophers/two");
  CHECK(node.healthy(kGopher, "two", limit(1s)));
  node.files().link("dev/tty0", "/dev/null");
  CHECK(node.count(kPort, 1, limit(1s)));
  node.files().file("dev/tty1");  // not a device node
  node.files().link("dev/tty2", "/dev/zero");
  CHECK(node.count(kPort, 2, limit(1s)));
}

TEST_CASE("7.12 an unplugged device is Unhealthy within 1 s, and has the same id when plugged in again") {
  Node node;
  node.files().file("gophers/one");
  node.files().file("gophers/two");
  node.files().link("dev/tty0", "/dev/null");
  configure_and_start(node, listed(kGopher, node.path("gophers")) + ports(node));
  REQUIRE(node.attached({kGopher, kPort}));
  const std::string port = ids_of(node.of(kPort)).at(0);

  node.files().remove("gophers/one");
  CHECK(node.unhealthy(kGopher, "one", limit(1s)));
  node.files().remove("dev/tty0");
  CHECK(node.unhealthy(kPort, port, limit(1s)));
  CHECK(node.of(kGopher).devices->size() == 2);

  node.files().file("gophers/one");
  CHECK(node.healthy(kGopher, "one", limit(1s)));
  node.files().link("dev/tty0", "/dev/null");
  CHECK(node.healthy(kPort, port, limit(1s)));
  CHECK(node.of(kGopher).devices->size() == 2);
  CHECK(node.of(kPort).devices->size() == 1);
}

TEST_CASE("a device that is gone for longer than forgetAfter leaves the list") {
  Node node;
  node.files().file("gophers/one");
  node.files().file("gophers/two");
  configure_and_start(node, listed(kGopher, node.path("gophers"), "forgetAfter: 1s"));
  REQUIRE(node.attached({kGopher}));
  node.files().remove("gophers/one");
  CHECK(node.unhealthy(kGopher, "one"));
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGopher).devices->size() == 1; }));
}

TEST_CASE("7.13 100 events in 1 s lead to at most 10 lists") {
  Node node;
  node.files().directory("gophers");
  configure_and_start(node, listed(kGopher, node.path("gophers")));
  REQUIRE(node.attached({kGopher}));
  const std::size_t before = node.of(kGopher).lists;
  paced(100, 1s, [&](int i) { node.files().file("gophers/" + std::to_string(i)); });
  REQUIRE(node.count(kGopher, 100));
  CHECK(node.of(kGopher).lists - before <= 10);
}

TEST_CASE("7.14 no list is sent without a change") {
  Node node;
  node.files().file("gophers/one");
  node.files().link("dev/tty0", "/dev/null");
  configure_and_start(node, listed(kGopher, node.path("gophers")) + ports(node));
  REQUIRE(node.attached({kGopher, kPort}));
  for (int i = 0; i < 10; ++i) {
    node.files().directory("gophers/no-device");
    node.files().remove("gophers/no-device");
    node.files().file("gophers/one", "another content");
    node.files().file("dev/tty-no-device");
    node.files().remove("dev/tty-no-device");
  }
  CHECK_FALSE(node.wait_for(
      [](const KubeletState& state) { return state.of(kGopher).lists > 1 || state.of(kPort).lists > 1; },
      kWatched));
}

TEST_CASE("7.15 ids have at most 63 characters, are UTF-8 and distinct, and stay the same after a restart") {
  Node node;
  const std::vector<std::string> names{"plain",
                                       "with space",
                                       "with\nnewline",
                                       "with,comma",
                                       "\xff\xfe not UTF-8",
                                       "\xff\xff other",
                                       "gr\xc3\xbc\xc3\x9f",
                                       std::string(63, 'x'),
                                       std::string(64, 'x'),
                                       std::string(255, 'x'),
                                       "100%",
                                       std::string(253, 'x') + "yz"};
  for (const std::string& name : names) node.files().file("gophers/" + name);
  configure_and_start(node, listed(kGopher, node.path("gophers"), "env: {Gopher: \"{id}\"}"));
  REQUIRE(node.attached({kGopher}));

  const std::vector<std::string> ids = ids_of(node.of(kGopher));
  CHECK(ids.size() == names.size());
  CHECK(distinct(ids).size() == names.size());
  CHECK(distinct(ids).contains("plain"));
  CHECK(distinct(ids).contains(std::string(63, 'x')));
  for (const std::string& id : ids) {
    CAPTURE(id);
    CHECK(valid_utf8(id));
    CHECK(std::ranges::count_if(id, [](char c) { return (c & 0xC0) != 0x80; }) <= 63);
    CHECK(node.kubelet().allocate_ids(kGopher, {id}).containers.at(0).env.at("Gopher") == id);
  }

  node.start_daemon();
  REQUIRE(node.wait_for([&](const KubeletState& state) { return state.of(kGopher).lists == 2; }));
  CHECK(ids_of(node.of(kGopher)) == ids);
}

TEST_CASE("7.15 two resources that come to list the same id are reported") {
  Node node;
  node.files().file("a/same");
  node.files().file("b/other");
  configure_and_start(node,
                      listed("example.com/a", node.path("a")) + listed("example.com/b", node.path("b")));
  REQUIRE(node.attached({"example.com/a", "example.com/b"}));
  node.files().file("b/same");
  CHECK(node.daemon().wait_for_line({"the same id", "id=same", "example.com/a", "example.com/b"}, kLong));
}

TEST_CASE("7.17 two streams at once both get updates, and plughost ends neither") {
  Node node;
  node.files().file("gophers/one");
  configure_and_start(node, listed(kGopher, node.path("gophers")));
  REQUIRE(node.attached({kGopher}));
  REQUIRE(node.kubelet().open_second_stream(kGopher));
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kGopher).second.lists == 1; }));
  for (const std::string name : {"two", "three"}) {
    node.files().file("gophers/" + name);
    CHECK(node.healthy(kGopher, name));
    CHECK(node.wait_for([&](const KubeletState& state) {
      return std::ranges::count(*state.of(kGopher).second.devices, name, &ListedDevice::id) == 1;
    }));
  }
  CHECK(node.of(kGopher).second.open);
  CHECK(node.of(kGopher).streams_ever == 1);
  CHECK(node.attached({kGopher}, 0ms));
}

TEST_CASE("7.35 Allocate has one response per request, within 2 s") {
  Node node;
  configure_and_start(node, counted("example.com/a", 4, "env: {IDS: \"{id}\"}"));
  REQUIRE(node.attached({"example.com/a"}));
  const auto socket = node.plugins() / node.of("example.com/a").registrations.back().endpoint;
  const auto stub = v1beta1::DevicePlugin::NewStub(
      grpc::CreateChannel("unix:" + socket.string(), grpc::InsecureChannelCredentials()));
  for (const int containers : {0, 1, 3}) {
    CAPTURE(containers);
    v1beta1::AllocateRequest request;
    for (int i = 0; i < containers; ++i)
      request.add_container_requests()->add_devices_ids("example.com/a-" + std::to_string(i));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit(2s));
    v1beta1::AllocateResponse response;
    CHECK(stub->Allocate(&context, request, &response).ok());
    REQUIRE(response.container_responses_size() == containers);
    for (int i = 0; i < containers; ++i)
      CHECK(response.container_responses(i).envs().at("IDS") == "example.com/a-" + std::to_string(i));
  }
}

TEST_CASE(
    "7.36 an unknown id is an error that names the id and the resource, and never leads to zero responses") {
  Node node;
  configure_and_start(node, counted("example.com/a", 2));
  REQUIRE(node.attached({"example.com/a"}));
  const AllocateAnswer answer = node.kubelet().allocate_ids("example.com/a", {"example.com/a-0", "ghost"});
  CHECK(answer.code != 0);
  CHECK(answer.text.find("ghost") != std::string::npos);
  CHECK(answer.text.find("example.com/a") != std::string::npos);
}

TEST_CASE("7.38 an equal request gets an equal response, even after a restart") {
  Node node;
  node.files().link("dev/tty0", "/dev/null");
  node.files().link("dev/tty1", "/dev/zero");
  configure_and_start(node, ports(node));
  REQUIRE(node.attached({kPort}));
  std::vector<std::string> ids = ids_of(node.of(kPort));
  REQUIRE(ids.size() == 2);
  std::ranges::reverse(ids);
  const AllocateAnswer first = node.kubelet().allocate_ids(kPort, ids);
  REQUIRE(first.containers.size() == 1);
  CHECK(first.containers[0].nodes.size() == 2);
  CHECK(node.kubelet().allocate_ids(kPort, ids).containers == first.containers);
  node.start_daemon();
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kPort).lists == 2; }));
  CHECK(node.kubelet().allocate_ids(kPort, ids).containers == first.containers);
}

TEST_CASE(
    "7.40 a preference is a subset of available with must_include and the requested size, and never fails") {
  Node node;
  configure_and_start(node,
                      counted("example.com/packed", 8, "replicas: 2, allocationPolicy: packed") +
                          counted("example.com/spread", 8, "replicas: 2, allocationPolicy: distributed") +
                          counted("example.com/none", 8));
  REQUIRE(node.attached({"example.com/packed", "example.com/spread", "example.com/none"}));
  for (const std::string name : {"example.com/packed", "example.com/spread", "example.com/none"}) {
    CAPTURE(name);
    const std::vector<std::string> available = ids_of(node.of(name));
    const std::vector<std::string> must{available[5], available[2]};
    for (const int size : {2, 3, 7}) {
      CAPTURE(size);
      const PreferredAnswer answer = node.kubelet().preferred_ids(name, available, must, size);
      CHECK(answer.code == 0);
      REQUIRE(answer.containers.size() == 1);
      const auto chosen = distinct(answer.containers[0]);
      CHECK(answer.containers[0].size() == static_cast<std::size_t>(size));
      CHECK(chosen.size() == static_cast<std::size_t>(size));
      CHECK(std::ranges::includes(distinct(available), chosen));
      CHECK(std::ranges::all_of(must, [&](const std::string& id) { return chosen.contains(id); }));
    }
    CHECK(node.kubelet().preferred_ids(name, {"ghost", available[0]}, {"ghost"}, 1).code == 0);
    CHECK(node.kubelet().preferred_ids(name, {}, {}, 3).code == 0);
    CHECK(node.kubelet().preferred_ids(name, available, {}, -1).code == 0);
  }
}

TEST_CASE("a container's shares belong to different devices by default, and as `shares` demands otherwise") {
  const std::string alike = "example.com/alike";
  const std::string one = "example.com/one";
  const std::string unlike = "example.com/unlike";
  const std::string told = R"(, env: {DEVICES: "{id}"})";
  Node node;
  configure_and_start(node, counted(alike, 8, "replicas: 10" + told) +
                                counted(one, 2, "replicas: 3, shares: oneDevice" + told) +
                                counted(unlike, 2, "replicas: 3, shares: differentDevices" + told));
  REQUIRE(node.attached({alike, one, unlike}));
  const auto ask = [&](const std::string& pod, const std::string& resource, std::size_t count) {
    const Admission admission = node.kubelet().allocate(pod, "main", resource, count);
    return admission.admitted() ? admission.answer.env.at("DEVICES") : admission.error;
  };
  // One device has fewer free shares than the others.
  REQUIRE(
      node.kubelet().allocate_named("taken", "main", alike, {alike + "-3::1", alike + "-3::2"}).admitted());
  const std::string eight = ask("eight", alike, 8);
  CHECK_MESSAGE(std::ranges::count(eight, ',') == 7, eight);

  CHECK(ask("pair", one, 2) == one + "-0");
  const std::string four = ask("four", one, 4);
  CAPTURE(four);
  CHECK(four.find("the shares of a container are one device's (`shares: oneDevice`), and of " + one +
                  " it would get ") != std::string::npos);
  CHECK(four.ends_with(". Free are 1 on " + one + "-0, 3 on " + one + "-1"));

  CHECK(ask("both", unlike, 2) == unlike + "-0," + unlike + "-1");
  const std::string three = ask("three", unlike, 3);
  CAPTURE(three);
  CHECK(three.find("the shares of a container are of different devices") != std::string::npos);
  CHECK(three.ends_with(". Free are 2 on " + unlike + "-0, 2 on " + unlike + "-1"));
}
