// Checks real devices of the kernel, from the command that creates them to the kubelet's list. Needs root.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hotplug/namespaces.hpp"
#include "integration/node.hpp"
#include "not_shown.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

bool run(const std::string& command) { return std::system(command.c_str()) == 0; }

void start_with_udev(Node& node, const std::string& name, const std::string& udev) {
  node.configure("- name: " + name + "\n  udev: {" + udev + "}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({name}));
}

}  // namespace

TEST_CASE("a veth interface is listed with its name as id, and is Unhealthy after it is renamed or removed") {
  enter_real_machine();
  const std::string name = "example.com/veth";
  Node node;
  start_with_udev(node, name, "subsystem: net, name: \"plug*\"");
  if (!run("ip link add plug0 type veth peer name peer0")) not_shown("the kernel makes no veth");
  CHECK(node.healthy(name, "plug0", limit(1s)));
  REQUIRE(run("ip link set plug0 name plug7"));
  CHECK(node.healthy(name, "plug7", limit(1s)));
  CHECK(node.unhealthy(name, "plug0", limit(1s)));
  REQUIRE(run("ip link del plug7"));
  CHECK(node.unhealthy(name, "plug7", limit(1s)));
}

TEST_CASE(
    "a macvtap's character device is listed with its node, and Unhealthy after its interface is removed") {
  enter_real_machine();
  const std::string name = "example.com/tap";
  Node node;
  start_with_udev(node, name, "subsystem: macvtap");
  REQUIRE(run("ip link add base0 type dummy || ip link add base0 type veth peer name base1"));
  if (!run("ip link add link base0 name tapped type macvtap")) not_shown("the kernel makes no macvtap");
  REQUIRE(node.wait_for([&](const KubeletState& state) { return state.of(name).devices->size() == 1; },
                        limit(1s)));
  const std::string id = ids_of(node.of(name)).front();
  CHECK(id.starts_with("tap"));
  const AllocateAnswer answer = node.kubelet().allocate_ids(name, {id});
  CHECK(answer.code == 0);
  CHECK(answer.containers.at(0).nodes.at(0).host_path == "/dev/" + id);
  REQUIRE(run("ip link del tapped"));
  CHECK(node.unhealthy(name, id, limit(1s)));
}

TEST_CASE("a loop device is listed after it is added, and Unhealthy after it is removed") {
  enter_real_machine();
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) not_shown("there is no /dev/loop-control");
  constexpr int kNumber = 4711;
  const std::string name = "example.com/loop";
  const std::string id = "loop" + std::to_string(kNumber);
  Node node;
  start_with_udev(node, name, "subsystem: block, name: \"loop47*\"");
  if (::ioctl(control.get(), LOOP_CTL_ADD, kNumber) < 0) not_shown("the kernel makes no loop device");
  CHECK(node.healthy(name, id, limit(1s)));
  CHECK(node.kubelet().allocate_ids(name, {id}).containers.at(0).nodes.at(0).host_path == "/dev/" + id);
  REQUIRE(::ioctl(control.get(), LOOP_CTL_REMOVE, kNumber) >= 0);
  CHECK(node.unhealthy(name, id, limit(1s)));
}

TEST_CASE("a zram device is listed after it is added, and Unhealthy after it is removed") {
  enter_real_machine();
  const std::string control = "/sys/class/zram-control/";
  if (!std::filesystem::exists(control)) not_shown("the kernel has no zram");
  const std::string name = "example.com/zram";
  Node node;
  start_with_udev(node, name, "subsystem: block, name: \"zram*\"");
  const std::size_t before = node.of(name).devices->size();
  int number = -1;
  std::ifstream(control + "hot_add") >> number;  // reading creates a device
  REQUIRE(number >= 0);
  const std::string id = "zram" + std::to_string(number);
  CHECK(node.healthy(name, id, limit(1s)));
  CHECK(node.of(name).devices->size() == before + 1);
  std::ofstream(control + "hot_remove") << number << std::flush;
  CHECK(node.unhealthy(name, id, limit(1s)));
}
