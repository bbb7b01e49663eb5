// Checks devices that a watch program lists, which keeps running.

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "unit/trapping.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// Returns an entry whose program runs the file `script` in the test's directory.
std::string watched(const Node& node, const std::string& script, const std::string& more = {}) {
  node.files().file("script", "echo $$ > pid\n" + script);
  node.files().file("program", "cd \"$1\"; . ./script\n");
  return "- {name: " + kDisk + ", exec: {watch: [/bin/sh, " + node.path("program") + ", " +
         node.files().path().string() + "]}" + more + "}\n";
}

const std::string kTwo = "echo '{\"devices\": [{\"id\": \"sda\"}, {\"id\": \"sdb\"}]}'\n";
// A script that waits until the test creates the file `go`, or has ended.
const std::string kWait = "while [ ! -e go ]; do [ -e script ] || exit; sleep 0.01; done; rm go\n";

void start_beside_other(Node& node, const std::string& resources,
                        const Node::Names& names = {kDisk, kOther}) {
  node.configure(resources + counted(kOther, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached(names));
}

pid_t pid_of(const Node& node) {
  pid_t pid = 0;
  REQUIRE(eventually([&] {
    std::ifstream file(node.files().at("pid"));
    return static_cast<bool>(file >> pid);
  }));
  return pid;
}

// Returns the number of bytes that the process has written so far.
std::uint64_t written_by(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/io");
  std::string name;
  for (std::uint64_t bytes = 0; file >> name >> bytes;) {
    if (name == "wchar:") return bytes;
  }
  FAIL("/proc/<pid>/io does not say what was written");
  return 0;
}

}  // namespace

TEST_CASE("exec: the output of a watch program is the list within a second") {
  Node node;
  start_beside_other(
      node,
      watched(node, kTwo + kWait +
                        "echo '{\"devices\": [{\"id\": \"sda\", \"healthy\": false, \"reason\": \"hot\"}, "
                        "{\"id\": \"sdc\"}]}'\nexec sleep 1000\n"));
  CHECK(ids_of(node.of(kDisk)) == std::vector<std::string>{"sda", "sdb"});
  node.files().file("go");
  CHECK(node.healthy(kDisk, "sdc", limit(1s)));
  CHECK(node.unhealthy(kDisk, "sda"));
  CHECK(node.unhealthy(kDisk, "sdb"));
  CHECK(node.kubelet().allocate_ids(kDisk, {"sda"}).text.find("hot") != std::string::npos);
}

TEST_CASE(
    "exec: a resource whose program has not printed yet is not registered, and then has all of its devices") {
  Node node;
  start_beside_other(node, watched(node, kWait + kTwo + "exec sleep 1000\n"), {kOther});
  pid_of(node);
  CHECK_FALSE(node.kubelet().state().resources.contains(kDisk));
  node.files().file("go");
  REQUIRE(node.attached({kDisk}));
  CHECK(node.of(kDisk).lists == 1);
}

TEST_CASE("exec: the end of a watch program makes its devices Unhealthy until the program runs again") {
  Node node;
  start_beside_other(node, watched(node, kTwo + kWait + "echo the bus is gone >&2; exit 3\n"));
  const pid_t first = pid_of(node);
  node.files().file("go");
  CHECK(node.unhealthy(kDisk, "sda"));
  CHECK(node.daemon().wait_for_line({"turned Unhealthy", kDisk, "exited with 3: the bus is gone"}, kLong));
  CHECK(node.healthy(kDisk, "sda"));
  CHECK(node.healthy(kDisk, "sdb"));
  CHECK(pid_of(node) != first);
}

TEST_CASE("exec: a watch program that prints without end does not slow down other resources") {
  Node node;
  start_beside_other(node, watched(node, kTwo + kWait + "exec yes '{\"devices\": [{\"id\": \"sdc\"}]}'\n"));
  node.files().file("go");
  CHECK(node.healthy(kDisk, "sdc"));
  const pid_t flood = pid_of(node);
  const auto begun = std::chrono::steady_clock::now();
  const std::uint64_t before = written_by(flood);
  for (int i = 0; i < 20; ++i)
    CHECK(node.kubelet().allocate_ids(kOther, {kOther + "-0"}).containers.size() == 1);
  CHECK(node.kubelet().allocate("pod", "main", kDisk, 1).admitted());
  CHECK(eventually([&] { return std::chrono::steady_clock::now() - begun >= 1s; }));
  // The output is read slowly: 64 KiB in 10 ms.
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
  CHECK(static_cast<double>(written_by(flood) - before) < 10e6 * passed.count());
}

TEST_CASE("exec: a watch program is ended by a reload that changes its entry, and by the daemon's stop") {
  Node node;
  start_beside_other(node, watched(node, kTwo + "exec sleep 1000\n"));
  const pid_t first = pid_of(node);
  node.files().remove("pid");
  node.configure(watched(node, kTwo + "exec sleep 1000\n", ", env: {A: b}") + counted(kOther, 1));
  REQUIRE(node.reload());
  const pid_t second = pid_of(node);
  CHECK(eventually([&] { return ::kill(first, 0) != 0; }));
  CHECK(eventually([&] {
    const AllocateAnswer answer = node.kubelet().allocate_ids(kDisk, {"sda"});
    return answer.containers.size() == 1 && answer.containers[0].env.contains("A");
  }));
  CHECK(node.of(kDisk).lists == 1);  // the kubelet got no second list
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(::kill(second, 0) != 0);
}

TEST_CASE("exec: a watch program may clean up, whether a reload or the daemon's stop ends it") {
  Node node;
  const std::string clears = trapping("echo bye; echo >> cleared", ": > ready\n" + kTwo + ":") + "\n";
  const auto is_ready = [&] { return std::filesystem::exists(node.files().at("ready")); };
  const auto times_cleared = [&] {
    std::ifstream file(node.files().at("cleared"));
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  start_beside_other(node, watched(node, clears));
  REQUIRE(eventually(is_ready));
  node.files().remove("ready");
  node.configure(watched(node, clears, ", env: {A: b}") + counted(kOther, 1));
  REQUIRE(node.reload());
  CHECK(eventually([&] { return times_cleared() == 1; }));
  REQUIRE(eventually(is_ready));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(times_cleared() == 2);
}

TEST_CASE("exec: discover and simulate run a watch program until its first line") {
  Node node;
  node.configure(watched(node, kTwo + "exec sleep 1000\n"));
  const Finished listed = run_plughost({"discover", "--config", node.configuration()});
  CHECK(listed.exit_code == 0);
  CHECK(listed.output.find("sdb") != std::string::npos);
  CHECK(::kill(pid_of(node), 0) != 0);
  CHECK(run_plughost({"simulate", "--config", node.configuration(), kDisk + "=sda"}).exit_code == 0);
  node.configure(watched(node, "echo no bus >&2; exit 4\n"));
  const Finished failed = run_plughost({"discover", "--config", node.configuration()});
  CHECK(failed.exit_code == 1);
  CHECK(failed.output.find("the program exited with 4: no bus") != std::string::npos);
}
