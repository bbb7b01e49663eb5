// Checks that a file system that stops answering any of the calls that a scan makes stalls only the resource
// in it. A watch makes none of these calls.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>

#include <csignal>
#include <optional>

#include "hotplug/hung_files.hpp"
#include "hotplug/namespaces.hpp"
#include "integration/node.hpp"
#include "not_shown.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kDead = "example.com/dead";
const std::string kGlob = "example.com/glob";
const std::string kWell = "example.com/well";

void configure(Node& node) {
  node.configure(listed(kDead, node.path("dead")) + "- name: " + kGlob + "\n  groups: [{paths: [{path: '" +
                 node.path("dead") + "/*', type: Mount}]}]\n" + listed(kWell, node.path("well")));
}

// Checks that scans, commands, kubelet restarts, Allocates and reloads work while a file system is stalled.
void check_the_rest(Node& node) {
  for (int round = 0; round < 3; ++round) {
    const std::string name = "file-" + std::to_string(round);
    node.files().file("well/" + name);
    CHECK(node.healthy(kWell, name, limit(1s)));
    CHECK(run_plughost({"status", "--control", node.control()}).exit_code == 0);
    node.kubelet().restart();
    CHECK(node.attached({kWell}, limit(2s)));
    CHECK(node.kubelet().allocate_ids(kWell, {name}).code == 0);
    node.set_top("# " + name + "\n");
    configure(node);
    CHECK(run_plughost({"reload", "--control", node.control()}).exit_code == 0);
  }
}

// Makes the daemon read every path again, by a change of the mounts.
void have_paths_looked_at(Node& node) {
  check(::mount("tmpfs", node.path("elsewhere").c_str(), "tmpfs", 0, nullptr), "mount");
  check(::umount(node.path("elsewhere").c_str()), "umount");
}

struct Machine {
  Machine() {
    enter_real_machine();
    node.files().directory("dead");
    node.files().directory("elsewhere");
    node.files().file("well/one");
    configure(node);
    node.start_kubelet();
  }
  void start() {
    files.emplace(node.path("dead"), std::vector<std::string>{"one", "two"});
    node.start_daemon();
    REQUIRE(node.count(kDead, 2));
    REQUIRE(node.count(kGlob, 2));
    REQUIRE(node.attached({kWell}));
  }

  Node node;
  std::optional<HungFiles> files;
};

struct Call {
  const char* name;
  std::uint32_t opcode;
};
constexpr Call kCalls[] = {
    {"lookup", FUSE_LOOKUP}, {"getattr", FUSE_GETATTR}, {"opendir", FUSE_OPENDIR}, {"readdir", FUSE_READDIR}};

}  // namespace

TEST_CASE("a stalled file system affects only the resources in it, until it responds") {
  for (const Call& call : kCalls) {
    CAPTURE(call.name);
    Machine machine;
    Node& node = machine.node;
    machine.start();
    machine.files->hang_at(call.opcode);
    have_paths_looked_at(node);
    check_the_rest(node);
    machine.files->answer();
    node.daemon().signal(SIGHUP);
    CHECK(node.count(kDead, 2));
    CHECK(node.kubelet().allocate_ids(kDead, {"one"}).code == 0);

    machine.files->hang_at(call.opcode);
    have_paths_looked_at(node);
    node.daemon().signal(SIGTERM);
    CHECK(eventually([&] { return node.socket_files().empty(); }, limit(2s)));
    // The kernel keeps a process while one of its threads is in a call to the file system.
    machine.files->answer();
    CHECK(node.daemon().wait_for_exit(limit(2s)) == 0);
  }
}

TEST_CASE("a file system that is stalled at the start does not prevent the start of other resources") {
  for (const Call& call : kCalls) {
    CAPTURE(call.name);
    Machine machine;
    Node& node = machine.node;
    machine.files.emplace(node.path("dead"), std::vector<std::string>{"one", "two"});
    machine.files->hang_at(call.opcode);
    node.start_daemon();
    CHECK(node.attached({kWell}));
    check_the_rest(node);
    machine.files->answer();
    CHECK(node.count(kDead, 2));
    CHECK(node.count(kGlob, 2));
  }
}

TEST_CASE("a file system that may stall is polled, too, if it is mounted while plughost runs") {
  Machine machine;
  Node& node = machine.node;
  node.files().file("dead/one");
  node.start_daemon();
  REQUIRE(node.count(kDead, 1));
  machine.files.emplace(node.path("dead"), std::vector<std::string>{"one", "two"});
  CHECK(node.count(kDead, 2));
  machine.files->add("three");
  CHECK(node.count(kDead, 3));
}

TEST_CASE("a new file in a file system that may stall is listed within seconds, without an event") {
  Machine machine;
  machine.start();
  machine.files->add("three");
  CHECK(machine.node.count(kDead, 3));
  CHECK(machine.node.count(kGlob, 3));
}

TEST_CASE(
    "a reload whose files cannot be read is refused, and so is every other until the file system responds") {
  Machine machine;
  Node& node = machine.node;
  machine.files.emplace(node.path("dead"), std::vector<std::string>{});
  node.set_top("include: ['" + node.path("dead") + "/*.yaml']\n");
  node.configure(listed(kWell, node.path("well")));
  node.start_daemon();
  REQUIRE(node.attached({kWell}));
  const auto reload = [&] { return run_plughost({"reload", "--control", node.control()}); };
  machine.files->hang_at(FUSE_OPENDIR);
  for (int round = 0; round < 2; ++round) {
    const Finished refused = reload();
    CHECK(refused.exit_code == 1);
    CHECK(refused.output.find("its file system does not answer") != std::string::npos);
  }
  CHECK(node.daemon().count_lines("reading the configuration takes too long") == 1);
  machine.files->answer();
  REQUIRE(node.daemon().wait_for_line({"the configuration can be read again"}, kLong));
  CHECK(reload().exit_code == 0);
}

TEST_CASE("plughost check does not wait for a directory that never responds, and reports it") {
  Machine machine;
  const std::string dead = machine.node.path("dead");
  const UniqueFd nobody(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  const std::string options = "fd=" + std::to_string(nobody.get()) + ",rootmode=40000,user_id=0,group_id=0";
  if (::mount("nobody", dead.c_str(), "fuse", 0, options.c_str()) != 0) not_shown("no FUSE can be mounted");
  const Finished checked = run_plughost({"check", machine.node.configuration()});
  ::umount2(dead.c_str(), MNT_FORCE | MNT_DETACH);
  CHECK(checked.exit_code == 0);
  CHECK(checked.output.find("note: devices and mounts were not checked: 3 s") != std::string::npos);
}
