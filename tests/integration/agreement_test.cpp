// Checks that plughost registers again with a kubelet that does not count the devices that it was sent.

#include <doctest/doctest.h>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// Starts a node with one attached device, which the kubelet counts.
void start_with_gophers(Node& node) {
  node.files().file("gophers/amy");
  node.configure(listed(kGopher, node.path("gophers")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
}

std::size_t registration_count(Node& node) { return node.of(kGopher).registrations.size(); }

}  // namespace

TEST_CASE(
    "plughost registers again after 5 s with a kubelet that ignores lists, which then counts correctly") {
  Node node(Node::Options{.pod_resources = true});
  start_with_gophers(node);
  node.kubelet().set_faults({.deaf = {kGopher}});
  node.files().file("gophers/ben");
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGopher).allocatable == 2; }));
  CHECK(registration_count(node) == 2);
  CHECK(node.daemon().wait_for_line({"kubelet counts other devices than it was sent: registering again",
                                     "of 2 Healthy devices it does not count 1 (ben)"},
                                    kLong));
  CHECK(node.daemon().wait_for_line({"kubelet counts the devices it was sent", kGopher}, kLong));
  // A list that is on its way is no disagreement.
  node.files().file("gophers/cat");
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGopher).allocatable == 3; }));
  CHECK(registration_count(node) == 2);
}

TEST_CASE("a kubelet of 1.37 that ignores lists gets another registration beside its stream") {
  Node node(Node::Options{.registering = StandInKubelet::Registering::kBySocket, .pod_resources = true});
  start_with_gophers(node);
  node.kubelet().set_faults({.deaf = {kGopher}});
  node.files().file("gophers/ben");
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGopher).allocatable == 2; }));
  CHECK(node.of(kGopher).registrations.back().while_streaming);
}

TEST_CASE("a kubelet without the pod resources API is not verified, which is logged once") {
  Node node;
  start_with_gophers(node);
  constexpr const char* kWords = "kubelet does not report its allocatable devices: counts are not verified";
  CHECK(node.daemon().wait_for_line({kWords}, kLong));
  node.files().file("gophers/ben");
  CHECK(node.count(kGopher, 2));
  REQUIRE(node.reload());
  CHECK(node.daemon().comes_to_lines(kWords, 1));
  CHECK(registration_count(node) == 1);
}
