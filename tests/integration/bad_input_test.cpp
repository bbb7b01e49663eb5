// Checks that after a fault of the machine or the kubelet, the affected resource waits and reports why, and
// other resources are served.

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("a device that vanished between list and Allocate is refused by name") {
  Node node;
  // The test removes the target of the watched link rather than the link, because a scan usually does not
  // notice that.
  const std::filesystem::path in_dev = "/dev/shm" / node.files().path().filename();
  std::filesystem::create_directory(in_dev);
  const std::unique_ptr<const std::filesystem::path, void (*)(const std::filesystem::path*)> cleaner(
      &in_dev, [](const std::filesystem::path* path) { std::filesystem::remove_all(*path); });
  std::filesystem::create_symlink("/dev/null", in_dev / "real");
  std::filesystem::create_symlink(in_dev / "real", in_dev / "tty0");
  node.configure("- {name: example.com/port, groups: [{paths: [{path: \"" + (in_dev / "tty*").string() +
                 "\"}]}]}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/port"}));
  const std::vector<std::string> ids = ids_of(node.of("example.com/port"));
  REQUIRE(ids.size() == 1);
  const Admission before = node.kubelet().allocate("pod", "c", "example.com/port", 1);
  REQUIRE(before.admitted());
  CHECK(before.answer.nodes.at(0).host_path == in_dev / "tty0");

  std::filesystem::remove(in_dev / "real");
  const AllocateAnswer answer = node.kubelet().allocate_ids("example.com/port", ids);
  CAPTURE(answer.text);
  CHECK(answer.code != 0);
  CHECK(answer.text.find("example.com/port") != std::string::npos);
  CHECK(answer.text.find("tty0") != std::string::npos);
}

TEST_CASE("Allocate of an Unhealthy device is refused with its reason") {
  Node node;
  node.files().file("gophers/one");
  node.configure(listed(kGopher, node.path("gophers")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kGopher, "one"));
  node.files().remove("gophers/one");
  REQUIRE(node.unhealthy(kGopher, "one"));
  const AllocateAnswer answer = node.kubelet().allocate_ids(kGopher, {"one"});
  CHECK(answer.code != 0);
  CHECK(answer.text.find("one") != std::string::npos);
  CHECK(answer.text.find(kGopher) != std::string::npos);
}

TEST_CASE("in a read-only plugin directory, plughost waits, reports why, and recovers when it can write") {
  need_mounts();
  Node node;
  node.configure(counted(kA, 2));
  node.start_kubelet();
  const std::string directory = node.plugins();
  node.start_daemon({}, mounted("mount --bind {} {}; mount -o remount,bind,ro {}", directory));
  REQUIRE(node.daemon().wait_for_line({"not attached", kA, "Read-only"}, kLong));
  CHECK(node.daemon().running());
  const std::string remount = "nsenter --target " + std::to_string(node.daemon().pid()) +
                              " --mount --root mount -o remount,bind,rw " + directory;
  REQUIRE(std::system(remount.c_str()) == 0);
  CHECK(node.attached({kA}));
}

TEST_CASE(
    "if the plugin directory's disk is full, plughost waits, reports why, and recovers when there is room") {
  need_mounts();
  Node node;
  node.configure(counted(kA, 2));
  node.start_daemon({}, mounted("mount -t tmpfs -o nr_inodes=2 none {}", node.plugins()));
  REQUIRE(node.daemon().wait_for_line({"waiting for the kubelet"}, kLong));
  const std::filesystem::path inside =
      "/proc/" + std::to_string(node.daemon().pid()) + "/root" + node.plugins().string();
  StandInKubelet kubelet({.directory = inside});  // its socket is the last file that fits
  REQUIRE(node.daemon().wait_for_line({"not attached", kA, "No space"}, kLong));
  CHECK(node.daemon().running());
  const std::string remount = "nsenter --target " + std::to_string(node.daemon().pid()) +
                              " --mount --root mount -o remount,nr_inodes=100 " + node.plugins().string();
  REQUIRE(std::system(remount.c_str()) == 0);
  CHECK(kubelet.wait_for([](const KubeletState& state) { return state.of(kA).attached; }, kLong));
  node.end_daemon();
}

TEST_CASE("a plugin directory that is replaced by a file, and restored, is used again") {
  Node node;
  node.configure(counted(kA, 2));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kA}));
  node.kubelet().stop();
  node.files().remove("device-plugins");
  node.files().file("device-plugins", "no directory");
  REQUIRE(node.daemon().wait_for_line({"is gone"}, kLong));
  node.files().remove("device-plugins");
  node.kubelet().restart();
  CHECK(node.attached({kA}));
}

TEST_CASE("with too few descriptors, the daemon survives, reports why, and serves what it can") {
  Node node;
  std::string resources;
  for (int i = 0; i < 40; ++i) resources += counted("example.com/r" + std::to_string(i), 2);
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon({}, {"prlimit", "--nofile=64:64"});
  REQUIRE(node.daemon().wait_for_line({"Too many open files"}, kLong));
  CHECK(node.wait_for([](const KubeletState& state) {
    return std::ranges::any_of(state.resources, [](const auto& item) { return item.second.attached; });
  }));
  CHECK(node.daemon().running());
  const auto before = node.daemon().processor_time();
  CHECK_FALSE(node.daemon().wait_for_line({"nothing of this kind"}, kWatched));
  CHECK(node.daemon().processor_time() - before <= kWatched / 2);  // no busy loop

  std::string attached;
  for (const auto& [name, resource] : node.kubelet().state().resources) {
    if (resource.attached) attached = name;
  }
  CHECK(node.kubelet().allocate("pod", "c", attached, 2).admitted());
  node.daemon().signal(SIGHUP);
  CHECK(node.daemon().wait_for_line({"not reloaded"}, kLong));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
}

TEST_CASE(
    "plughost waits for a kubelet that sends garbage, reports why, and attaches when the kubelet recovers") {
  Node node;
  node.configure(counted(kA, 2) + counted("example.com/b", 2));
  node.start_kubelet({.answers_garbage = true});
  node.start_daemon();
  REQUIRE(node.daemon().wait_for_line({"does not answer", "why="}, kLong));
  CHECK(node.daemon().running());
  const std::size_t from = node.daemon().mark();
  CHECK_FALSE(node.daemon().wait_for_line({"nothing of this kind"}, 2 * kWatched, from));
  REQUIRE(node.daemon().mark() - from <= 10);  // one line per change of state
  node.kubelet().set_faults({});
  CHECK(node.attached({kA, "example.com/b"}, 10s + kLong));
}

TEST_CASE("sockets of resources that are named after devices are created and removed with the devices") {
  Node node(Node::Options{.registration = each_registration()});
  node.files().file("things/video0");
  node.configure(listed("\"smarter-devices/{name}\"", node.path("things"),
                        "forgetAfter: 1s, env: {WHO: \"{resource}\"}"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"smarter-devices/video0"}));
  node.files().file("things/video1");
  node.files().file("things/a b");
  CHECK(node.attached({"smarter-devices/video1", "smarter-devices/a_b"}));
  CHECK(node.kubelet().allocate("pod", "c", "smarter-devices/video1", 1).answer.env.at("WHO") ==
        "smarter-devices/video1");
  CHECK(node.socket_files().size() == 3);
  REQUIRE(node.kubelet().free("pod"));

  node.files().remove("things/video1");
  CHECK(node.unhealthy("smarter-devices/video1", "video1"));
  CHECK(node.wait_for(
      [](const KubeletState& state) { return state.of("smarter-devices/video1").streams == 0; }));
  CHECK(eventually([&] { return node.socket_files().size() == 2; }));
  CHECK(node.of("smarter-devices/video0").streams_ever == 1);
  node.files().file("things/video1");
  CHECK(node.attached({"smarter-devices/video1"}));
}
