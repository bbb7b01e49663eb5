// Checks devices' health as the kubelet and the log show it: check programs, devices that flap, and forgotten
// devices.

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "unit/leased_program.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

bool lists_device(const KubeletState& state, const std::string& id) {
  return std::ranges::count(*state.of(kGopher).devices, id, &ListedDevice::id) == 1;
}

// Returns an entry for which files in gophers/ are devices. A device is Unhealthy while sick-<id> exists.
std::string checked(const Node& node, const std::string& more = {}) {
  node.files().file("check", "[ ! -e \"$1/sick-$2\" ] || { cat \"$1/sick-$2\"; exit 1; }\n");
  return test::listed(kGopher, node.path("gophers"),
                      "health: {exec: [/bin/sh, " + node.path("check") + ", " + node.files().path().string() +
                          ", \"{id}\"], interval: 1s}" + more);
}

void start_kubelet_and_daemon(Node& node, const std::string& resources) {
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon();
}

}  // namespace

TEST_CASE("a health check's result is in the first list, and its reason in the log") {
  Node node(each_kubelet());
  for (const char* name : {"one", "two", "three"}) node.files().file(std::string("gophers/") + name);
  node.files().file("sick-two", "too hot: 95 degrees\n");
  start_kubelet_and_daemon(node, checked(node));
  REQUIRE(node.attached({kGopher}));
  CHECK(node.of(kGopher).lists == 1);
  CHECK(node.of(kGopher).devices->size() == 3);
  CHECK(node.of(kGopher).allocatable == 2);
  CHECK(node.unhealthy(kGopher, "two", 0ms));
  CHECK(node.daemon().wait_for_line({"Unhealthy", kGopher, "two", "too hot: 95 degrees"}, kLong));
}

TEST_CASE("a device that a health check reports as sick is Unhealthy until the check passes") {
  Node node;
  node.files().file("gophers/one");
  start_kubelet_and_daemon(node, checked(node));
  REQUIRE(node.attached({kGopher}));
  CHECK(node.healthy(kGopher, "one", 0ms));
  node.files().file("sick-one", "too hot\n");
  REQUIRE(node.unhealthy(kGopher, "one"));
  const AllocateAnswer refused = node.kubelet().allocate_ids(kGopher, {"one"});
  CHECK(refused.text.find("too hot") != std::string::npos);
  node.files().remove("sick-one");
  CHECK(node.healthy(kGopher, "one"));
  CHECK(node.daemon().wait_for_line({"Healthy again", kGopher, "one"}, kLong));
}

TEST_CASE("a device that is plugged in is listed with the result of its first check") {
  Node node;
  node.files().directory("gophers");
  node.files().file("sick-bad", "broken\n");
  start_kubelet_and_daemon(node, checked(node));
  REQUIRE(node.attached({kGopher}));
  node.files().file("gophers/good");
  node.files().file("gophers/bad");
  CHECK(node.healthy(kGopher, "good"));
  CHECK(node.unhealthy(kGopher, "bad"));
  CHECK(node.daemon().count_lines("Healthy again") == 0);
}

TEST_CASE("a reload that adds a health check removes no device") {
  Node node;
  for (int i = 0; i < 20; ++i) node.files().file("gophers/" + std::to_string(i));
  start_kubelet_and_daemon(node, test::listed(kGopher, node.path("gophers")));
  REQUIRE(node.attached({kGopher}));
  node.configure(checked(node));
  REQUIRE(node.reload());
  node.files().file("gophers/new");
  // The second list is the one with the new device.
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kGopher).lists == 2; }));
  CHECK(node.of(kGopher).allocatable == 21);
}

TEST_CASE("a device that is gone stays listed for as long as a pod holds it") {
  Node node(Node::Options{.pod_resources = true});
  for (const char* name : {"held", "free"}) node.files().file(std::string("gophers/") + name);
  start_kubelet_and_daemon(node, test::listed(kGopher, node.path("gophers"), "replicas: 2, forgetAfter: 1s"));
  REQUIRE(node.attached({kGopher}));
  REQUIRE(node.kubelet().allocate_named("pod", "main", kGopher, {"held::1"}).admitted());
  node.files().remove("gophers");
  REQUIRE(node.wait_for([](const KubeletState& state) { return !lists_device(state, "free::0"); }));
  CHECK(node.unhealthy(kGopher, "held::0", 0ms));
  CHECK(node.unhealthy(kGopher, "held::1", 0ms));
  CHECK_FALSE(
      node.wait_for([](const KubeletState& state) { return !lists_device(state, "held::1"); }, kWatched));

  SUBCASE("the device leaves the list when the pod ends") {
    REQUIRE(node.kubelet().free("pod"));
    CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGopher).devices->empty(); }));
  }
  SUBCASE("the device stays listed while the kubelet does not respond") {
    const std::size_t from = node.daemon().mark();
    node.kubelet().stop();
    CHECK(node.daemon().wait_for_line({"cannot read pod resources"}, kLong, from));
    node.kubelet().restart();
    REQUIRE(node.attached({kGopher}));
    CHECK(node.unhealthy(kGopher, "held::1", 0ms));
    REQUIRE(node.kubelet().free("pod"));
    CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGopher).devices->empty(); }));
  }
  SUBCASE("the device is Healthy when it returns") {
    node.files().file("gophers/held");
    CHECK(node.healthy(kGopher, "held::1"));
    CHECK(node.daemon().wait_for_line({"devices appeared", "devices=held"}, kLong));
  }
}

TEST_CASE("if the holders are unknown, a device is forgotten by time alone, which is logged once") {
  Node node;
  for (const char* name : {"one", "two"}) node.files().file(std::string("gophers/") + name);
  start_kubelet_and_daemon(node, test::listed(kGopher, node.path("gophers"), "forgetAfter: 1s"));
  REQUIRE(node.attached({kGopher}));
  for (const std::string name : {"one", "two"}) {
    node.files().remove("gophers/" + name);
    REQUIRE(node.wait_for([&](const KubeletState& state) { return !lists_device(state, name); }));
  }
  CHECK(node.daemon().comes_to_lines("cannot read pod resources", 1));
}

TEST_CASE(
    "devices that appear or vanish are logged in one line, and those of the first list are not logged") {
  Node node;
  node.files().file("gophers/one");
  start_kubelet_and_daemon(node, test::listed(kGopher, node.path("gophers"), "forgetAfter: 1s"));
  REQUIRE(node.attached({kGopher}));
  node.files().file("gophers/two");
  REQUIRE(node.healthy(kGopher, "two"));
  CHECK(node.daemon().wait_for_line(
      {"info", "devices appeared", "resource=" + kGopher, "devices=two", "count=1"}, kLong));
  CHECK(node.daemon().comes_to_lines("devices appeared", 1));
  node.files().remove("gophers/one");
  REQUIRE(node.unhealthy(kGopher, "one"));
  CHECK(node.daemon().wait_for_line(
      {"warn", "devices are gone", "resource=" + kGopher, "devices=one", "count=1"}, kLong));
  CHECK(node.daemon().wait_for_line({"devices forgotten", "devices=one"}, kLong));
  // An empty list does not make the next list a first one.
  node.files().remove("gophers/two");
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kGopher).devices->empty(); }));
  node.files().file("gophers/one");
  CHECK(node.daemon().wait_for_line({"devices appeared", "devices=one"}, kLong));
  CHECK(node.daemon().count_lines("turned Unhealthy") == 0);
  CHECK(node.daemon().count_lines("Healthy again") == 0);
}

TEST_CASE("a flapping device is held Unhealthy with that reason") {
  Node node;
  node.files().file("gophers/one");
  start_kubelet_and_daemon(node, test::listed(kGopher, node.path("gophers")));
  REQUIRE(node.attached({kGopher}));
  for (int i = 0; i < 3; ++i) {
    node.files().remove("gophers/one");
    REQUIRE(node.unhealthy(kGopher, "one"));
    node.files().file("gophers/one");
    if (i < 2) REQUIRE(node.healthy(kGopher, "one"));
  }
  CHECK_FALSE(node.healthy(kGopher, "one", kWatched));
  CHECK(node.kubelet().allocate_ids(kGopher, {"one"}).text.find("flapping") != std::string::npos);
}

TEST_CASE("the loss of a thousand devices is logged in a few lines with a count and the first names") {
  Node node;
  for (int i = 1000; i < 2000; ++i) node.files().file("gophers/" + std::to_string(i));
  start_kubelet_and_daemon(node, test::listed(kGopher, node.path("gophers")));
  REQUIRE(node.attached({kGopher}));
  const std::size_t from = node.daemon().mark();
  node.files().remove("gophers");
  REQUIRE(node.count(kGopher, 0));
  CHECK(node.daemon().wait_for_line({"devices are gone", kGopher, "more", "count="}, kLong, from));
  CHECK(node.daemon().count_lines("devices are gone", from) < 20);
}

TEST_CASE("a check whose start stalls in a file system affects no other device") {
  const std::string other = "example.com/other";
  Node node;
  node.files().file("gophers/one");
  node.files().file("others/one");
  LeasedProgram hung(node.files().at("hung"));
  start_kubelet_and_daemon(node,
                           test::listed(kGopher, node.path("gophers"),
                                        "health: {exec: [" + hung.path() + "], interval: 1s, timeout: 2s}") +
                               test::listed(other, node.path("others")));
  REQUIRE(node.attached({other}, limit(1s)));
  node.files().file("others/two");
  CHECK(node.healthy(other, "two", limit(500ms)));
  REQUIRE(node.attached({kGopher}));
  CHECK(node.unhealthy(kGopher, "one"));
  CHECK(node.daemon().wait_for_line({"Unhealthy", "the health check was killed after 2 s"}, kLong));
  hung.give_back();
  CHECK(node.healthy(kGopher, "one"));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
}

TEST_CASE("plughost reads exit codes although its parent process ignores SIGCHLD") {
  Node node;
  node.files().file("gophers/one");
  node.configure(checked(node));
  node.start_kubelet();
  node.start_daemon({}, {"/usr/bin/env", "--ignore-signal=CHLD"});
  REQUIRE(node.attached({kGopher}));
  CHECK(node.healthy(kGopher, "one"));
  const auto before = node.daemon().processor_time();
  node.files().file("sick-one", "too hot\n");
  CHECK(node.unhealthy(kGopher, "one"));
  CHECK(node.daemon().wait_for_line({"Unhealthy", "too hot"}, kLong));
  CHECK_FALSE(node.wait_for([](const KubeletState&) { return false; }, kWatched));
  CHECK(node.daemon().processor_time() - before < limit(300ms));
}

TEST_CASE(
    "a device that stays Unhealthy is reported to the whenUnhealthy program once, with the pod that holds "
    "it") {
  Node node({.pod_resources = true});
  node.files().file("tell", "cd \"$1\"; cat >> told-$2\n");
  node.files().file("disks/sda");
  node.files().file("disks/sdb");
  const auto configured = [&](const std::string& more) {
    node.configure(test::listed(kGopher, node.path("disks"),
                                "whenUnhealthy: {after: 500ms, exec: [/bin/sh, " + node.path("tell") + ", " +
                                    node.files().path().string() + ", \"{id}\"]}" + more));
  };
  configured("");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  REQUIRE(node.kubelet().allocate_named("pod-a", "main", kGopher, {"sda"}).admitted());
  node.files().remove("disks/sda");
  REQUIRE(node.daemon().wait_for_line({"whenUnhealthy program finished", kGopher, "sda"}, kLong));
  const auto told = [&](const std::string& device) {
    std::ifstream file(node.files().at("told-" + device));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(told("sda").find("\"reason\":\"it is gone") != std::string::npos);
  CHECK(told("sda").find("\"pod\":\"pod-a\"") != std::string::npos);

  // The changed policy needs a new endpoint. Of the entry's devices, a healthy one is drained and one is
  // sick.
  const std::size_t from = node.daemon().mark();
  configured(", allocationPolicy: packed");
  REQUIRE(node.reload());
  REQUIRE(node.attached({kGopher}));
  CHECK(run_plughost({"drain", kGopher + "=sdb", "--control", node.control()}).exit_code == 0);
  CHECK(node.unhealthy(kGopher, "sdb"));
  node.files().file("disks/sdc");
  REQUIRE(node.healthy(kGopher, "sdc"));
  node.files().remove("disks/sdc");
  REQUIRE(node.daemon().wait_for_line({"whenUnhealthy program finished", "sdc"}, kLong, from));
  CHECK(node.daemon().count_lines("whenUnhealthy", from) == 1);
  CHECK(told("sdb").empty());
}
