#include <doctest/doctest.h>

#include <optional>

#include "kubelet/pod_resources.hpp"
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
  pods.ask(EventLoop::Clock::now(), [&](const PodResources::Answer& given) { answer = given; });
  REQUIRE(run_until(loop, [&] { return answer.has_value(); }));
  return *answer;
}

const std::string kResource = AttachedPlugin::kResource;

}  // namespace

TEST_CASE("the stand-in's pod resources say what its pods hold, and are gone while it is stopped") {
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
