// Checks devices that the user's own program lists.

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// Returns an entry whose program prints the file etc/list, unless the file etc/script does something else.
std::string discovered(const Node& node, const std::string& more = {}) {
  node.files().file("program", "cd \"$1\"; [ ! -e etc/script ] || . etc/script; exec cat etc/list\n");
  return "- {name: " + kDisk + ", exec: {discover: [/bin/sh, " + node.path("program") + ", " +
         node.files().path().string() + "], triggers: {paths: [" + node.path("etc") +
         "]}, attributes: [serial]}" + more + "}\n";
}

// Writes a file atomically.
void put(const Node& node, const std::string& name, const std::string& content) {
  node.files().file("new", content);
  std::filesystem::rename(node.files().at("new"), node.files().at("etc/" + name));
}

void start_with_list(Node& node, const std::string& more = {}) {
  put(node, "list", R"({"devices": [
    {"id": "sda", "numa": 1, "mounts": [{"hostPath": "/srv/a", "containerPath": "/disk{n}"}],
     "env": {"DISK_{n}": "a"}, "attributes": {"serial": "S-A"}},
    {"id": "sdb", "mounts": [{"hostPath": "/srv/b", "containerPath": "/disk{n}"}],
     "env": {"DISK_{n}": "b"}, "attributes": {"serial": "S-B"}}]})");
  node.configure(discovered(node, more) + counted(kOther, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk, kOther}));
}

}  // namespace

TEST_CASE("exec: a container gets what the program has printed for its devices") {
  Node node;
  node.files().directory("etc");
  start_with_list(node, ", env: {SERIALS: \"{serial}\"}");
  CHECK(ids_of(node.of(kDisk)) == std::vector<std::string>{"sda", "sdb"});
  const AllocateAnswer answer = node.kubelet().allocate_ids(kDisk, {"sdb", "sda"});
  REQUIRE(answer.containers.size() == 1);
  CHECK(answer.containers[0].env ==
        std::map<std::string, std::string>{{"DISK_0", "b"}, {"DISK_1", "a"}, {"SERIALS", "S-B,S-A"}});
  REQUIRE(answer.containers[0].mounts.size() == 2);
  CHECK(answer.containers[0].mounts[0].container_path == "/disk0");
  CHECK(answer.containers[0].mounts[0].host_path == "/srv/b");
}

TEST_CASE("exec: a trigger runs the program again, and the new output is the list") {
  Node node;
  node.files().directory("etc");
  start_with_list(node);
  put(node, "list",
      R"({"devices": [{"id": "sda", "healthy": false, "reason": "bad sectors"}, {"id": "sdc"}]})");
  CHECK(node.healthy(kDisk, "sdc"));
  CHECK(node.unhealthy(kDisk, "sda"));
  CHECK(node.unhealthy(kDisk, "sdb"));
  CHECK(node.kubelet().allocate_ids(kDisk, {"sda"}).text.find("bad sectors") != std::string::npos);
}

TEST_CASE("exec: a failing program leaves the former list, and the last line of its error output is logged") {
  Node node;
  node.files().directory("etc");
  start_with_list(node);
  const std::size_t from = node.daemon().mark();
  SUBCASE("the program fails") {
    put(node, "script", "echo first >&2; echo the controller is away >&2; exit 4\n");
    CHECK(node.daemon().wait_for_line({"device scan failed", kDisk, "exited with 4: the controller is away"},
                                      kLong, from));
  }
  SUBCASE("the program prints no JSON") {
    put(node, "list", "sda sdb\n");
    CHECK(node.daemon().wait_for_line({"device scan failed", kDisk, "it is not JSON"}, kLong, from));
  }
  SUBCASE("the program prints an invalid device") {
    put(node, "list", R"({"devices": [{"id": "sda", "nodes": ["sda"]}]})");
    CHECK(
        node.daemon().wait_for_line({"devices[0] ('sda').nodes[0]: must be an absolute path"}, kLong, from));
  }
  SUBCASE("the program prints without end") {
    put(node, "script", "exec yes\n");
    CHECK(node.daemon().wait_for_line({"device scan failed", kDisk, "more than 4 MiB"}, kLong, from));
  }
  CHECK(node.of(kDisk).allocatable == 2);
  CHECK(node.of(kDisk).lists == 1);
  CHECK(node.kubelet().allocate("pod", "main", kDisk, 2).admitted());
  node.files().remove("etc/script");
  put(node, "list", R"({"devices": [{"id": "sdc"}]})");
  CHECK(node.healthy(kDisk, "sdc"));
}

TEST_CASE("exec: a program that does not end delays no Allocate, and is killed when plughost stops") {
  Node node;
  node.files().directory("etc");
  start_with_list(node);
  put(node, "script", "echo $$ > pid; exec sleep 1000\n");
  pid_t pid = 0;
  REQUIRE(eventually([&] {
    std::ifstream file(node.files().at("pid"));
    return static_cast<bool>(file >> pid);
  }));
  CHECK(node.kubelet().allocate("pod", "main", kOther, 1).admitted());
  CHECK(node.kubelet().allocate("pod", "main", kDisk, 1).admitted());
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("exec: while a slow program runs, no stall is reported, and the former list is used") {
  Node node;
  node.files().directory("etc");
  put(node, "list", R"({"devices": [{"id": "sda"}]})");
  std::string resources = discovered(node);
  // The program may take longer than any other scan.
  resources.replace(resources.find("triggers:"), 0, "timeout: 6s, ");
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk}));
  put(node, "script", "exec sleep 1000\n");
  CHECK(node.daemon().wait_for_line({"device scan failed", kDisk, "killed after 6 s"}, kLong));
  CHECK(node.daemon().count_lines("takes too long") == 0);
  CHECK(node.kubelet().allocate("pod", "main", kDisk, 1).admitted());
}

TEST_CASE("exec: twelve slow programs do not delay a resource of files, or a reload") {
  const std::string files = "example.com/file";
  Node node;
  node.files().file("disks/one");
  node.files().file("program",
                    "cd \"$1\"; touch begun-$2; while [ ! -e go ]; do sleep 0.02; done\n"
                    "echo '{\"devices\": [{\"id\": \"'$2'\"}]}'\n");
  std::string resources = listed(files, node.path("disks"));
  Node::Names slow;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "slow-" + std::to_string(i);
    slow.push_back("example.com/" + name);
    resources += "- {name: " + slow.back() + ", exec: {discover: [/bin/sh, " + node.path("program") + ", " +
                 node.files().path().string() + ", " + name + "], timeout: 1m}}\n";
  }
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({files}));
  for (int i = 0; i < 12; ++i) {
    const std::filesystem::path mark = node.files().at("begun-slow-" + std::to_string(i));
    REQUIRE(eventually([&] { return std::filesystem::exists(mark); }));
  }
  node.files().file("disks/two");
  CHECK(node.healthy(files, "two", limit(500ms)));
  // The configuration of the reload is read by a worker, too.
  node.configure(resources + counted(kOther, 1));
  REQUIRE(node.reload());
  CHECK(node.attached({kOther}, limit(1s)));
  CHECK_FALSE(node.attached({slow.back()}, 0ms));
  node.files().file("go");
  CHECK(node.attached(slow));
}

TEST_CASE("exec: a reload does not wait for the program that it replaces") {
  Node node;
  node.files().directory("etc");
  start_with_list(node);
  put(node, "script", "touch hangs; exec sleep 1000\n");
  REQUIRE(eventually([&] { return std::filesystem::exists(node.files().at("hangs")); }));
  node.configure("- {name: " + kDisk +
                 ", exec: {discover: [/bin/echo, '{\"devices\": [{\"id\": \"new\"}]}']}}\n" +
                 counted(kOther, 1));
  REQUIRE(node.reload());
  CHECK(node.healthy(kDisk, "new", limit(1s)));
}
