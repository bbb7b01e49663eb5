// Checks registrations of a resource that is registered already.

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "integration/fewest.hpp"
#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

void attach(Node& node, StandInKubelet::OnEvent on_event = {}) {
  node.configure(counted(kA, 3));
  node.start_kubelet({}, std::move(on_event));
  node.start_daemon();
  REQUIRE(node.attached({kA}));
}

}  // namespace

TEST_CASE(
    "other options are registered beside the stream of a kubelet of 1.37, which counts all devices "
    "throughout") {
  Fewest fewest(kA);
  Node node({.registering = StandInKubelet::Registering::kBySocket});
  attach(node, fewest.listener());
  node.configure(counted(kA, 3, "preStart: {exec: [/bin/true]}"));
  REQUIRE(node.reload());
  CHECK(node.wait_for([](const KubeletState& state) {
    const ResourceState& known = state.of(kA);
    return known.registrations.size() == 2 && known.streams == 1 && known.lists_since_registration == 2;
  }));
  const ResourceState known = node.of(kA);
  CHECK(known.registrations[1].while_streaming);
  CHECK(known.registrations[1].options.pre_start_required);
  CHECK(known.registrations[1].endpoint != known.registrations[0].endpoint);
  CHECK(known.plugin_options->pre_start_required);
  CHECK(known.attached);
  CHECK(fewest.count() == 3);
  CHECK(node.socket_files().size() == 1);
  CHECK(node.kubelet().allocate("pod", "main", kA, 1).admitted());
  CHECK(node.kubelet().start_container("pod").empty());
}

TEST_CASE("other options are registered after the end of the stream with a kubelet up to 1.36") {
  Node node;
  attach(node);
  node.configure(counted(kA, 3, "allocationPolicy: packed"));
  REQUIRE(node.reload());
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kA).registrations.size() == 2; }));
  CHECK(node.attached({kA}));
  CHECK(node.daemon().output().find("not attached") == std::string::npos);
  CHECK(node.of(kA).registrations.back().options.preferred_allocation_available);
  CHECK_FALSE(node.of(kA).registrations.back().while_streaming);
}

TEST_CASE("a kubelet of 1.37 that refuses the second registration keeps the first one's stream") {
  Fewest fewest(kA);
  Node node({.registering = StandInKubelet::Registering::kBySocket});
  attach(node, fewest.listener());
  node.kubelet().set_faults({.refused = {{kA, "not now"}}});
  node.configure(counted(kA, 3, "allocationPolicy: packed"));
  REQUIRE(node.reload());
  CHECK(node.daemon().wait_for_line({"cannot register again", kA, "not now"}, kLong));
  CHECK(node.of(kA).streams == 1);
  node.kubelet().set_faults({});
  CHECK(node.wait_for(
      [](const KubeletState& state) { return state.of(kA).streams_ever == 2 && state.of(kA).streams == 1; }));
  CHECK(fewest.count() == 3);
}
