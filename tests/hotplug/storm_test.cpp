// Checks that too many events, and reads that do not return, do not affect other resources.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "hotplug/made_machine.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

const std::string kCameras = "- name: " + kCamera + "\n  udev: {subsystem: video4linux}\n  forgetAfter: 1s\n";

std::string camera(int n) { return "/sys/devices/platform/cameras/video4linux/video" + std::to_string(n); }

void start_with_both(Node& node, const std::string& resources) {
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kCamera, kOther}));
}

}  // namespace

TEST_CASE("after 10,000 events in a second the list is right, and at most 10 lists a second were sent") {
  const MadeMachine machine;
  for (int n = 0; n < 10; ++n) machine.sysfs().device(camera(n), "video4linux");
  Node node;
  start_with_both(node, kCameras + counted(kOther, 3));
  REQUIRE(node.count(kCamera, 10));
  const auto lists = node.of(kCamera).lists;
  int allocations = 0;
  bool answered = true;
  const auto begin = Clock::now();
  for (int n = 0; n < 10'000; ++n) {
    // Changes the devices after every 500 events.
    if (n % 500 == 0) {
      const int twentieth = n / 500;
      if (twentieth % 2 == 0)
        machine.sysfs().device(camera(10 + twentieth), "video4linux");
      else
        machine.sysfs().remove(camera(10 + twentieth - 1));
      ++allocations;
      answered = answered && node.kubelet().allocate_ids(kOther, {"example.com/other-0"}).code == 0;
    }
    send_uevent("change", camera(n % 10).substr(4), "video4linux");
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  CHECK(allocations == 20);
  CHECK(answered);
  machine.plug_in(camera(99), "video4linux", {});
  CHECK(node.healthy(kCamera, "video99", limit(1s)));
  CHECK(node.wait_for([&](const KubeletState& state) {
    return std::ranges::count_if(*state.of(kCamera).devices, &ListedDevice::healthy) == 11;
  }));
  CAPTURE(took.count());
  CHECK(node.of(kCamera).lists - lists <= 10 * (static_cast<std::size_t>(took.count()) / 1000 + 2));
  CHECK(node.of(kCamera).streams_ever == 1);
}

TEST_CASE("an overflow of the monitor's socket leads to a scan, and no device is missed") {
  const MadeMachine machine;
  Node node;
  start_with_both(node, kCameras + counted(kOther, 3));
  // A stopped daemon reads nothing, and the kernel drops events when the buffer is full.
  node.daemon().signal(SIGSTOP);
  const std::string padding(1500, 'x');
  for (int n = 0; n < 20'000; ++n)
    send_uevent("change", camera(0).substr(4), "video4linux", {{"PADDING", padding}});
  machine.plug_in(camera(1), "video4linux", {});
  node.daemon().signal(SIGCONT);
  CHECK(node.healthy(kCamera, "video1", limit(1s)));
  machine.plug_in(camera(2), "video4linux", {});
  CHECK(node.healthy(kCamera, "video2", limit(1s)));
}

TEST_CASE(
    "a scan after an overflow makes up for events that were lost among those of a different subsystem") {
  const MadeMachine machine;
  Node node;
  start_with_both(node, kCameras + counted(kOther, 3));
  // A stopped daemon reads nothing. None of the events that remain is of the camera's subsystem.
  node.daemon().signal(SIGSTOP);
  const std::string padding(1500, 'x');
  for (int n = 0; n < 20'000; ++n)
    send_uevent("change", "/devices/virtual/tty/tty0", "tty", {{"PADDING", padding}});
  machine.plug_in(camera(1), "video4linux", {});
  node.daemon().signal(SIGCONT);
  CHECK(node.healthy(kCamera, "video1", limit(1s)));
}

TEST_CASE(
    "7.41 while a read in /sys hangs, its resource keeps its list and reports the stall, and others are "
    "served") {
  const MadeMachine machine;
  machine.sysfs().device(camera(0), "video4linux", {{"index", "0"}});
  Node node;
  node.files().file("gophers/one");
  start_with_both(node, "- name: " + kCamera +
                            "\n  udev: {subsystem: video4linux, attributes: {index: \"*\"}}\n" +
                            listed(kOther, node.path("gophers")));
  REQUIRE(node.count(kCamera, 1));

  // Opening a pipe for reading waits for a writer.
  machine.sysfs().device(camera(1), "video4linux");
  REQUIRE(::mkfifo((camera(1) + "/index").c_str(), 0644) == 0);
  send_uevent("add", camera(1).substr(4), "video4linux");
  CHECK(node.daemon().wait_for_line({"takes too long", "entry=" + kCamera}, 5s + kLong));
  CHECK(node.of(kCamera).devices->size() == 1);
  const auto asked = Clock::now();
  const AllocateAnswer refused = node.kubelet().allocate_ids(kCamera, {"video0"});
  CHECK(refused.code != 0);
  CHECK(refused.text.find(kCamera + ": its device scan has not ended") != std::string::npos);
  CHECK(Clock::now() - asked < limit(2s));
  node.files().file("gophers/two");
  CHECK(node.healthy(kOther, "two", limit(1s)));

  // The scan may read the pipe again until a file replaces it.
  std::thread writer([&] {
    const UniqueFd pipe(::open((camera(1) + "/index").c_str(), O_WRONLY | O_CLOEXEC));
    machine.sysfs().tree().remove(camera(1) + "/index");
    machine.sysfs().attribute(camera(1), "index", "1");
  });
  CHECK(node.healthy(kCamera, "video1"));
  writer.join();
  CHECK(node.daemon().wait_for_line({"device scan finished"}, kLong));
  CHECK(node.kubelet().allocate_ids(kCamera, {"video0"}).code == 0);
  CHECK(node.of(kCamera).streams_ever == 1);
}

TEST_CASE(
    "foreign messages to udev's group do not end the daemon, and the messages after them are received") {
  const MadeMachine machine;
  machine.sysfs().tree().file("run/udev/control");  // makes udevd appear to run
  Node node;
  start_with_both(node, kCameras + counted(kOther, 3));
  // MurmurHash2 of "video4linux", which the socket's filter requires.
  constexpr std::uint32_t kHash = 0xe9cf3931;
  const auto message = [](std::uint32_t offset, std::uint32_t size, const std::string& properties) {
    std::string text("libudev\0", 8);
    for (const std::uint32_t word :
         {htonl(0xfeedcafe), std::uint32_t{40}, offset, size, htonl(kHash), 0U, 0U, 0U})
      text.append(reinterpret_cast<const char*>(&word), sizeof word);
    return text + properties;
  };
  const UniqueFd socket(
      check(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT), "socket"));
  sockaddr_nl group{};
  group.nl_family = AF_NETLINK;
  group.nl_groups = 2;
  const auto send = [&](const std::string& text) {
    return ::sendto(socket.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&group),
                    sizeof group);
  };
  for (const std::uint32_t offset : {0x7fffffffU, 1000U, 41U, 0U}) CHECK(send(message(offset, 0, "")) >= 0);
  CHECK(send("libudev") >= 0);
  machine.sysfs().device(camera(1), "video4linux");
  const std::string properties("ACTION=add\0DEVPATH=/devices/x\0SUBSYSTEM=video4linux\0", 52);
  CHECK(send(message(40, 52, properties)) >= 0);
  CHECK(node.healthy(kCamera, "video1", limit(1s)));
  CHECK(node.daemon().running());
}

TEST_CASE("a reload replaces an entry whose scan hangs, and the new source is scanned at once") {
  const MadeMachine machine;
  machine.sysfs().device(camera(0), "video4linux", {{"index", "0"}});
  Node node;
  start_with_both(node, "- name: " + kCamera +
                            "\n  udev: {subsystem: video4linux, attributes: {index: \"*\"}}\n" +
                            counted(kOther, 3));
  REQUIRE(node.count(kCamera, 1));
  machine.sysfs().device(camera(1), "video4linux");
  REQUIRE(::mkfifo((camera(1) + "/index").c_str(), 0644) == 0);
  send_uevent("add", camera(1).substr(4), "video4linux");
  REQUIRE(node.daemon().wait_for_line({"takes too long", "entry=" + kCamera}, 5s + kLong));

  const std::size_t from = node.daemon().mark();
  node.configure(kCameras + counted(kOther, 3));  // the pipe is no longer read
  REQUIRE(node.reload());
  CHECK(node.healthy(kCamera, "video1", limit(1s)));
  CHECK(node.daemon().wait_for_line({"device scan finished"}, kLong, from));
  CHECK(node.kubelet().allocate_ids(kCamera, {"video0"}).code == 0);
  CHECK(node.of(kCamera).streams_ever == 1);
  machine.plug_in(camera(2), "video4linux", {});
  CHECK(node.healthy(kCamera, "video2", limit(1s)));
}

TEST_CASE("a reload changes the udev filter, so that events of the new subsystem are received") {
  const MadeMachine machine;
  Node node;
  start_with_both(node, kCameras + counted(kOther, 3));
  node.configure("- name: " + kCamera + "\n  udev: {subsystem: sound, name: \"card*\"}\n" +
                 counted(kOther, 3));
  REQUIRE(node.reload());
  machine.plug_in("/sys/devices/platform/speaker/sound/card0", "sound", {});
  CHECK(node.healthy(kCamera, "card0", limit(1s)));
}
