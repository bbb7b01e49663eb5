// Checks that an entry's preStart program prepares a container's devices before the container starts.

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// Returns an entry whose preStart program creates prepared-<id>. The file hold-<id> delays the program, and
// the file broken-<id> makes it fail with the file's content.
std::string prepared(const Node& node) {
  node.files().file(
      "prepare",
      "cd \"$1\"; echo $$ > written-$2; mv written-$2 pid-$2; while [ -e hold-$2 ]; do sleep 0.01; done\n"
      "[ ! -e broken-$2 ] || { cat broken-$2; exit 1; }; echo >> prepared-$2\n");
  return test::listed(kDisk, node.path("disks"),
                      "preStart: {exec: [/bin/sh, " + node.path("prepare") + ", " +
                          node.files().path().string() + ", \"{id}\"]}");
}

void start_with_preparation(Node& node) {
  for (const char* name : {"sda", "sdb"}) node.files().file(std::string("disks/") + name);
  node.configure(prepared(node) + counted(kOther, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk, kOther}));
  REQUIRE(node.kubelet().allocate("pod", "main", kDisk, 2).admitted());
}

bool made(const Node& node, const std::string& file) {
  return std::filesystem::exists(node.files().at(file));
}

// Starts the container on another thread. Returns the error of the start.
std::future<std::string> starting(Node& node) {
  return std::async(std::launch::async, [&node] { return node.kubelet().start_container("pod"); });
}

}  // namespace

TEST_CASE(
    "a container starts when each of its devices is prepared, and only entries with preStart are called") {
  Node node(each_kubelet());
  start_with_preparation(node);
  // plugins_registry has no Register, and a kubelet that answers first trusts Register's options.
  const auto required = [&](const std::string& resource) {
    const ResourceState& state = node.of(resource);
    return state.plugin_options ? state.plugin_options->pre_start_required
                                : state.registrations.back().options.pre_start_required;
  };
  CHECK(required(kDisk));
  CHECK_FALSE(required(kOther));
  CHECK(node.kubelet().start_container("pod") == "");
  CHECK(made(node, "prepared-sda"));
  CHECK(made(node, "prepared-sdb"));
}

TEST_CASE(
    "a failing preStart program fails a container's start with its output, and a later start may succeed") {
  Node node;
  start_with_preparation(node);
  node.files().file("broken-sdb", "no space left on sdb\n");
  const std::string why = node.kubelet().start_container("pod");
  CHECK(why.find("resource example.com/disk: device \"sdb\" is not ready: no space left on sdb") !=
        std::string::npos);
  CHECK(node.daemon().wait_for_line({"PreStartContainer refused", kDisk, "no space left"}, kLong));
  node.files().remove("broken-sdb");
  CHECK(node.kubelet().start_container("pod") == "");
}

TEST_CASE("a slow preStart program delays no other container and no list") {
  Node node;
  start_with_preparation(node);
  node.files().file("hold-sda");
  auto why = starting(node);
  REQUIRE(eventually([&] { return made(node, "pid-sda"); }));
  CHECK(node.kubelet().allocate("another", "main", kOther, 1).admitted());
  node.files().file("disks/sdc");
  CHECK(node.healthy(kDisk, "sdc"));
  CHECK(why.wait_for(0s) == std::future_status::timeout);
  node.files().remove("hold-sda");
  CHECK(why.get() == "");
}

TEST_CASE("a container start in progress fails when plughost stops, and does not delay the stop") {
  Node node;
  start_with_preparation(node);
  node.files().file("hold-sda");
  auto why = starting(node);
  REQUIRE(eventually([&] { return made(node, "pid-sda"); }));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  const std::string text = why.get();
  CAPTURE(text);
  CHECK(text.find("plughost is stopping, or restarts its endpoint") != std::string::npos);
}

TEST_CASE("a reload that removes a resource fails its container starts in progress") {
  Node node;
  start_with_preparation(node);
  node.files().file("hold-sda");
  auto why = starting(node);
  REQUIRE(eventually([&] { return made(node, "pid-sda"); }));
  node.configure(counted(kOther, 1));
  REQUIRE(node.reload());
  // The kubelet closes the connection with the stream, so the text may be lost.
  REQUIRE(why.wait_for(limit(1s)) == std::future_status::ready);
  const std::string text = why.get();
  CAPTURE(text);
  CHECK(text.find("PreStartContainer rpc failed") != std::string::npos);
  pid_t pid = 0;
  std::ifstream(node.files().at("pid-sda")) >> pid;
  CHECK(eventually([&] { return ::kill(pid, 0) != 0; }));
  CHECK(node.daemon().running());
}

TEST_CASE("two hundred container starts at once delay no new device, and all of them succeed") {
  Node node;
  for (int i = 0; i < 8; ++i) node.files().file("disks/sd" + std::to_string(i));
  node.files().file("others/one");
  node.configure(test::listed(kDisk, node.path("disks"), "preStart: {exec: [/bin/true], timeout: 25s}") +
                 test::listed(kOther, node.path("others")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk, kOther}));
  REQUIRE(node.kubelet().allocate("pod", "main", kDisk, 8).admitted());
  std::vector<std::future<std::string>> starts;
  for (int i = 0; i < 200; ++i) starts.push_back(starting(node));
  node.files().file("others/two");
  CHECK(node.healthy(kOther, "two", limit(300ms)));
  for (std::future<std::string>& start : starts) CHECK(start.get().empty());
}
