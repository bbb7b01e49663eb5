#include <doctest/doctest.h>

#include <optional>

#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "unit/run_until.hpp"
#include "unit/standin/test_plugin.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

PodResources::Answer ask(const std::filesystem::path& socket) {
  EventLoop loop;
  PodResources pods(loop, socket);
  std::optional<PodResources::Answer> answer;
  pods.query(EventLoop::Clock::now(), [&](const PodResources::Answer& given) { answer = given; });
  REQUIRE(run_until(loop, [&] { return answer.has_value(); }));
  return *answer;
}

}  // namespace

TEST_CASE("the stand-in's pod resources report its pods' devices, and are unavailable while it is stopped") {
  const TempDir dir;
  const auto socket = dir.at("pods/kubelet.sock");
  AttachedPlugin attached(dir.path(), 3, {.pod_resources = socket});
  REQUIRE(attached.listed);
  CHECK(*ask(socket).holdings == Holdings{});

  REQUIRE(attached.kubelet.allocate_named("pod", "main", kResource, {"d0", "d2"}).admitted());
  const Holder holder{.pod_namespace = "default", .pod = "pod", .container = "main"};
  const Holdings held{{kResource, {{"d0", holder}, {"d2", holder}}}};
  CHECK(*ask(socket).holdings == held);

  attached.kubelet.stop();
  CHECK_FALSE(ask(socket).holdings);
  attached.kubelet.restart();
  CHECK(*ask(socket).holdings == held);
  CHECK(attached.kubelet.free("pod"));
  CHECK(*ask(socket).holdings == Holdings{});
}

TEST_CASE("the stand-in's List omits init containers and ended pods, which its checkpoint keeps") {
  const TempDir dir;
  const auto socket = dir.at("pod-resources/kubelet.sock");
  AttachedPlugin attached(dir.path(), 3, {.pod_resources = socket, .pods = dir.at("pods")});
  REQUIRE(attached.listed);
  REQUIRE(attached.kubelet.allocate_named("pod", "init-a", kResource, {"d0"}).admitted());
  REQUIRE(attached.kubelet.allocate_named("pod", "main", kResource, {"d1"}).admitted());
  const auto kept = [&] {
    return Checkpoint::read(dir.at("kubelet_internal_checkpoint")).pod_devices.size();
  };
  CHECK(ask(socket).holdings->at(kResource).all().size() == 1);
  CHECK(ask(socket).holdings->at(kResource).contains("d1"));
  CHECK(kept() == 2);
  CHECK(std::filesystem::exists(dir.at("pods/pod")));
  SUBCASE("with the fault that lists no pods") {
    attached.kubelet.set_faults({.lists_no_pods = true});
    CHECK(ask(socket).holdings->empty());
    CHECK(kept() == 2);
    attached.kubelet.set_faults({});
    CHECK(ask(socket).holdings->size() == 1);
  }
  SUBCASE("an ended pod stays in the checkpoint, also over a restart") {
    CHECK(attached.kubelet.free("pod"));
    CHECK(ask(socket).holdings->empty());
    CHECK_FALSE(std::filesystem::exists(dir.at("pods/pod")));
    CHECK(kept() == 2);
    attached.kubelet.restart();
    CHECK(ask(socket).holdings->empty());
    CHECK(attached.kubelet.pods().empty());
    CHECK(kept() == 2);
  }
  SUBCASE("the next Allocate removes an ended pod from the checkpoint, and gets its devices") {
    CHECK(attached.kubelet.free("pod"));
    REQUIRE(attached.kubelet.allocate_named("next", "main", kResource, {"d0"}).admitted());
    CHECK(kept() == 1);
  }
}
