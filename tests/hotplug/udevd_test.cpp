// Checks a machine with the real systemd-udevd, whose events follow its rules, and one without it, with the
// kernel's earlier events.

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "hotplug/made_machine.hpp"
#include "integration/resource_names.hpp"
#include "not_shown.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* kUdevd = "/lib/systemd/systemd-udevd";

// A udevd of the simulated machine, with a rule for cameras and one that delays video7 until release().
class Udevd {
 public:
  Udevd() {
    if (!std::filesystem::exists(kUdevd)) not_shown("there is no systemd-udevd: install the package udev");
    std::filesystem::create_directories("/run/udev/rules.d");
    std::ofstream("/run/udev/rules.d/50-camera.rules")
        << "SUBSYSTEM==\"video4linux\", ENV{ID_MODEL}=\"Lens\", TAG+=\"plughost\"\n"
           "KERNEL==\"video7\", PROGRAM=\"/bin/cat /run/release\"\n";
    check(::mkfifo("/run/release", 0600), "mkfifo");
    const char* const arguments[] = {"setpriv", "--pdeathsig", "KILL", kUdevd, nullptr};
    check(::posix_spawnp(&pid_, arguments[0], nullptr, nullptr, const_cast<char* const*>(arguments), environ),
          "posix_spawnp");
    // udevd's socket exists before udevd receives events of the kernel.
    const bool ready =
        eventually([] { return std::system("udevadm control --ping --timeout=5 2>/dev/null") == 0; });
    if (!ready) not_shown("systemd-udevd does not come up here");
  }
  ~Udevd() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  // Ends the delay of video7.
  static void release() { std::ofstream("/run/release") << "go\n"; }

 private:
  pid_t pid_ = -1;
};

}  // namespace

TEST_CASE("a udevd that starts after the daemon is used, with the properties of its rules") {
  const MadeMachine machine;
  Node node;
  node.configure("- name: " + kCamera +
                 "\n  udev: {subsystem: video4linux, properties: {ID_MODEL: Lens}, tags: [plughost]}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kCamera}));
  // Without udevd, no device has the property.
  machine.plug_in("/sys/devices/platform/a/video4linux/video0", "video4linux", {});
  const Udevd udevd;
  machine.plug_in("/sys/devices/platform/a/video4linux/video1", "video4linux", {});
  CHECK(node.healthy(kCamera, "video1", limit(1s)));
  CHECK(node.of(kCamera).devices->size() == 1);
  machine.unplug("/sys/devices/platform/a/video4linux/video1", "video4linux");
  CHECK(node.unhealthy(kCamera, "video1", limit(1s)));
}

TEST_CASE("a device is listed once udev has processed it, and not before") {
  const MadeMachine machine;
  Node node;
  node.configure("- name: " + kCamera + "\n  udev: {subsystem: video4linux}\n");
  node.start_kubelet();
  const Udevd udevd;
  machine.plug_in("/sys/devices/platform/a/video4linux/video7", "video4linux", {},
                  {{"DEVNAME", "video7"}, {"MAJOR", "81"}, {"MINOR", "7"}});
  node.start_daemon();
  REQUIRE(node.attached({kCamera}));
  CHECK(node.of(kCamera).devices->empty());
  Udevd::release();
  // The device's node is /dev/null here, so the device is listed as Unhealthy. With the node's real number,
  // udevd would change /dev/null.
  CHECK(node.unhealthy(kCamera, "video7", limit(1s)));
  CHECK(node.daemon().wait_for_line({"/dev/video7 is another device's node"}, kLong));
}
