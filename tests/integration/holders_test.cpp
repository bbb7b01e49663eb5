// Checks that a held device is never given to another pod, whatever the kubelet's List omits.

#include <doctest/doctest.h>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kFirst = "example.com/one";

// Two entries that list the same device.
struct TwoEntries {
  explicit TwoEntries(Node::Options options = {.pod_resources = true}) : node(options) {
    const std::string zero = ", udev: {subsystem: mem, name: zero}, id: zero}\n";
    node.configure("- {name: " + kFirst + zero + "- {name: " + kOther + zero);
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kFirst, kOther}));
  }
  void hold(const std::string& container) {
    REQUIRE(node.kubelet().allocate_named("pod", container, kFirst, {"zero"}).admitted());
    REQUIRE(node.unhealthy(kOther, "zero"));
  }
  // Returns true if the device of kOther stays Unhealthy for that time.
  bool stays_unhealthy(std::chrono::milliseconds time) {
    return !node.wait_for([](const KubeletState& state) { return state.of(kOther).allocatable > 0; }, time);
  }

  Node node;
};

}  // namespace

TEST_CASE("a running init container's device is not given to another pod until the container's pod ends") {
  TwoEntries two;
  two.hold("init-setup");
  CHECK(two.stays_unhealthy(
      12s));  // longer than the 5 s of the ledger and the 10 s until the kubelet counts as settled
  REQUIRE(two.node.kubelet().free("pod"));
  CHECK(two.node.healthy(kOther, "zero", 30s));
}

TEST_CASE("a plughost that starts while List is empty gives no held device to a second pod") {
  TwoEntries two;
  two.hold("main");
  two.node.kubelet().set_faults({.lists_no_pods = true});
  two.node.end_daemon();
  two.node.start_daemon();
  REQUIRE(two.node.attached({kFirst, kOther}));
  CHECK(two.stays_unhealthy(3s));
  two.node.kubelet().set_faults({});
  REQUIRE(two.node.kubelet().free("pod"));
  CHECK(two.node.healthy(kOther, "zero", 30s));
}

TEST_CASE("without the pod resources API, an ended pod releases its device before the next Allocate") {
  TwoEntries two(Node::Options{});
  two.hold("main");
  REQUIRE(two.node.kubelet().free("pod"));
  CHECK(two.node.healthy(kOther, "zero", 30s));
}

TEST_CASE("a device that vanished stays listed while an init container holds it") {
  Node node{Node::Options{.pod_resources = true}};
  for (const char* name : {"held", "free"}) node.files().file(std::string("gophers/") + name);
  node.configure(listed(kFirst, node.path("gophers"), "forgetAfter: 1s"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kFirst}));
  REQUIRE(node.kubelet().allocate_named("pod", "init-setup", kFirst, {"held"}).admitted());
  node.files().remove("gophers");
  REQUIRE(
      node.wait_for([](const KubeletState& state) { return state.of(kFirst).devices->size() == 1; }, 30s));
  CHECK(node.unhealthy(kFirst, "held", 0ms));
  CHECK_FALSE(node.wait_for([](const KubeletState& state) { return state.of(kFirst).devices->empty(); }, 5s));
  REQUIRE(node.kubelet().free("pod"));
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kFirst).devices->empty(); }, 90s));
}
