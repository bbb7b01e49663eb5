// Checks changes without an inotify event, or with an incomplete one.

#include <doctest/doctest.h>
#include <sys/mount.h>

#include <cstdlib>

#include "hotplug/made_machine.hpp"
#include "integration/resource_names.hpp"
#include "not_shown.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

void start_with_gophers(Node& node, const std::vector<std::string>& wrapper = {}) {
  node.files().file("gophers/one");
  node.configure(listed(kGopher, node.path("gophers")));
  node.start_kubelet();
  node.start_daemon({}, wrapper);
  REQUIRE(node.attached({kGopher}));
}

}  // namespace

TEST_CASE("a file system that is mounted on a watched directory is noticed at once, and so is its unmount") {
  const MadeMachine machine;
  Node node;
  start_with_gophers(node);
  REQUIRE(node.healthy(kGopher, "one"));
  const std::string directory = node.path("gophers");
  for (const char* name : {"two", "three"}) {
    check(::mount("tmpfs", directory.c_str(), "tmpfs", 0, nullptr), "mount");
    CHECK(node.unhealthy(kGopher, "one", limit(1s)));
    node.files().file(std::string("gophers/") + name);
    CHECK(node.healthy(kGopher, name, limit(1s)));
    check(::umount(directory.c_str()), "umount");
    CHECK(node.healthy(kGopher, "one", limit(1s)));
  }
}

TEST_CASE(
    "without an inotify instance plughost starts and serves, and watches files as soon as it gets one") {
  if (std::system("unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_inotify_instances' 2>/dev/null") != 0)
    not_shown("no user namespace with limits of its own is to be had here");
  Node node;
  start_with_gophers(node, {"unshare", "-Ur", "sh", "-c",
                            "echo 0 >/proc/sys/user/max_inotify_instances; exec \"$@\"", "sh"});
  CHECK(node.daemon().wait_for_line({"error", "fs.inotify.max_user_instances"}, kLong));
  node.kubelet().restart();
  CHECK(node.attached({kGopher}, limit(10s)));
  node.files().file("gophers/two");
  CHECK(node.healthy(kGopher, "two"));  // polled
  const std::string allow = "nsenter --user --preserve-credentials --target " +
                            std::to_string(node.daemon().pid()) +
                            " sh -c 'echo 128 >/proc/sys/user/max_inotify_instances'";
  REQUIRE(std::system(allow.c_str()) == 0);
  REQUIRE(node.daemon().wait_for_line({"info", "there is an inotify instance again"}, kLong));
  node.files().file("gophers/three");
  CHECK(node.healthy(kGopher, "three", limit(1s)));
  CHECK(node.daemon().comes_to_lines("fs.inotify.max_user_instances", 1));
}
