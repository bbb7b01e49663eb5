#include "daemon/platform/kubelet_link.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/platform/process.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using Clock = EventLoop::Clock;

struct KubeletRoot {
  test::TempDir files;
  test::Process process;
  UniqueFd kubelet;

  KubeletRoot() {
    for (const char* name : {"plugins", "registry", "pods-api"}) files.directory(name);
    kubelet = listen_unix(files.path() / "plugins/kubelet.sock");
  }
  void kill_a_daemon_in(const char* directory) const {
    const UniqueFd gone = listen_unix(files.path() / directory / "plughost-dead.sock");
  }
  Clock::time_point not_before(KubeletConfig::Registration registration) {
    const KubeletConfig config{.directory = files.path() / "plugins",
                               .plugins_registry = files.path() / "registry",
                               .pod_resources = files.path() / "pod-resources/kubelet.sock",
                               .registration = registration};
    return KubeletLink(
               process.platform, config, nullptr, [] {}, [] {})
        .not_before();
  }
};

}  // namespace

using enum KubeletConfig::Registration;

TEST_CASE("the first Register after a kill waits until the kubelet has forgotten the killed daemon") {
  KubeletRoot root;
  root.kill_a_daemon_in("plugins");
  const Clock::time_point before = Clock::now();
  const Clock::time_point first = root.not_before(kRegister);
  CHECK(first >= before + KubeletLink::kForgetting);
  CHECK(first <= Clock::now() + KubeletLink::kForgetting);
}

TEST_CASE("the first Register after a kill does not wait for a kubelet that has not started yet") {
  KubeletRoot root;
  root.kill_a_daemon_in("plugins");
  root.files.remove("plugins/kubelet.sock");
  CHECK(root.not_before(kRegister) == Clock::time_point{});
}

TEST_CASE("the first Register after a clean stop does not wait") {
  CHECK(KubeletRoot().not_before(kRegister) == Clock::time_point{});
}

TEST_CASE("the first Register after a kill does not wait with a kubelet of 1.37") {
  KubeletRoot root;
  root.kill_a_daemon_in("plugins");
  const UniqueFd kubelet = listen_unix(root.files.path() / "pods-api/pods-api.sock");
  CHECK(root.not_before(kRegister) == Clock::time_point{});
}

TEST_CASE("a pods API on which no process listens is not a kubelet of 1.37") {
  KubeletRoot root;
  root.kill_a_daemon_in("plugins");
  { const UniqueFd former = listen_unix(root.files.path() / "pods-api/pods-api.sock"); }
  CHECK(root.not_before(kRegister) > Clock::now());
}

TEST_CASE("a killed daemon's socket in plugins_registry causes no delay") {
  KubeletRoot root;
  root.kill_a_daemon_in("registry");
  CHECK(root.not_before(kPluginsRegistry) == Clock::time_point{});
}

}  // namespace plughost
