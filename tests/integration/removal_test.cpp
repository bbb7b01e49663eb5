// Checks that the onRemove program runs for the devices of a resource that is no longer offered.

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// Returns an entry whose onRemove program creates cleared-<id>, or does not end if the file hang-<id> exists.
std::string cleared(const Node& node, const std::string& more = {}) {
  return test::listed(kDisk, node.path("disks"),
                      "onRemove: {exec: [/bin/sh, " + node.path("clear") + ", " +
                          node.files().path().string() + ", \"{id}\"]}" + more);
}

void start_with_clearing(Node& node) {
  node.files().file("clear", "cd \"$1\"; [ ! -e hang-$2 ] || exec sleep 1000; echo >> cleared-$2\n");
  for (const char* name : {"sda", "sdb"}) node.files().file(std::string("disks/") + name);
  node.configure(cleared(node) + counted(kOther, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk, kOther}));
}

bool is_made(const Node& node, const std::string& file) {
  return std::filesystem::exists(node.files().at(file));
}

}  // namespace

TEST_CASE(
    "a reload that removes a resource runs onRemove for its devices, and one that changes it does not") {
  Node node;
  start_with_clearing(node);
  node.configure(cleared(node, ", env: {A: b}") + counted(kOther, 1));
  REQUIRE(node.reload());
  // The changed policy needs a new endpoint, and the resource is served again rather than removed.
  const auto streams = node.of(kDisk).streams_ever;
  node.configure(cleared(node, ", allocationPolicy: packed") + counted(kOther, 1));
  REQUIRE(node.reload());
  REQUIRE(node.wait_for([&](const KubeletState& state) { return state.of(kDisk).streams_ever > streams; }));
  REQUIRE(node.attached({kDisk, kOther}));
  CHECK_FALSE(is_made(node, "cleared-sda"));
  node.configure(counted(kOther, 1));
  REQUIRE(node.reload());
  CHECK(eventually([&] { return is_made(node, "cleared-sda") && is_made(node, "cleared-sdb"); }));
}

TEST_CASE(
    "a reload that also changes the kubelet runs onRemove for a removed resource, and logs the removal") {
  Node node;
  start_with_clearing(node);
  node.files().file("config.yaml", "kubelet: {directory: " + node.plugins().string() +
                                       ", podResources: " + node.path("other.sock") + "}\nresources:\n" +
                                       counted(kOther, 1) + "control: " + node.control() + "\n");
  REQUIRE(node.reload());
  CHECK(eventually([&] { return is_made(node, "cleared-sda") && is_made(node, "cleared-sdb"); }));
  CHECK(node.daemon().wait_for_line({"resource removed", kDisk}, kLong));
  CHECK(node.attached({kOther}));
}

TEST_CASE("a stop runs onRemove for the devices before plughost ends") {
  Node node;
  start_with_clearing(node);
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(is_made(node, "cleared-sda"));
  CHECK(is_made(node, "cleared-sdb"));
}

TEST_CASE("an onRemove program that hangs delays a stop no longer than systemd waits") {
  Node node;
  start_with_clearing(node);
  node.files().file("hang-sda");
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(4s)) == 0);
  CHECK(is_made(node, "cleared-sdb"));
  CHECK(node.daemon().wait_for_line({"the onRemove program failed", kDisk, "sda", "no time for it to end"},
                                    kLong));
}

TEST_CASE("an onRemove program that does not end is killed before systemd would kill everything") {
  Node node;
  node.files().file("clear",
                    "cd \"$1\"; trap '' TERM; echo $$ > half; mv half pid; while :; do sleep 0.1; done\n");
  node.files().file("disks/sda");
  node.configure(cleared(node) + counted(kOther, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk, kOther}));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(4s)) == 0);
  pid_t pid = 0;
  std::ifstream(node.files().at("pid")) >> pid;
  REQUIRE(pid > 0);
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("a second signal does not wait for onRemove programs") {
  Node node;
  start_with_clearing(node);
  node.files().file("hang-sda");
  node.daemon().signal(SIGTERM);
  REQUIRE(node.daemon().wait_for_line({"stopping"}, kLong));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
}

TEST_CASE(
    "a resource that is named after its devices is removed with the last one, and onRemove runs for it") {
  Node node;
  node.files().file("clear", "cd \"$1\"; echo >> cleared-$2\n");
  node.files().file("disks/sda");
  node.files().file("disks/sdb");
  node.configure("- {name: \"example.com/{name}\", directory: {path: " + node.path("disks") +
                 "}, forgetAfter: 1s, onRemove: {exec: [/bin/sh, " + node.path("clear") + ", " +
                 node.files().path().string() + ", \"{id}\"]}}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/sda", "example.com/sdb"}));
  node.files().remove("disks/sda");
  CHECK(eventually([&] { return is_made(node, "cleared-sda"); }));
  CHECK_FALSE(is_made(node, "cleared-sdb"));
}

TEST_CASE("emptyAtStop sends an empty list when a resource or plughost ends, and none while both continue") {
  const std::string served_anew =  // needs a new endpoint
      counted("example.com/wanted", 3, "emptyAtStop: true, allocationPolicy: packed");
  const std::string removed = counted("example.com/removed", 3, "emptyAtStop: true");
  std::atomic<int> empty_lists = 0;
  Node node;
  node.configure(counted("example.com/wanted", 3, "emptyAtStop: true") + removed + counted(kOther, 3));
  node.start_kubelet({}, [&](const KubeletEvent& event) {
    if (event.type == KubeletEvent::Type::kList && event.devices == 0) ++empty_lists;
  });
  node.start_daemon();
  REQUIRE(node.attached({"example.com/wanted", "example.com/removed", kOther}));

  node.kubelet().restart();
  REQUIRE(node.attached({"example.com/wanted", "example.com/removed", kOther}));
  const auto registered = node.of("example.com/wanted").registrations.size();
  node.configure(served_anew + removed + counted(kOther, 3));
  REQUIRE(node.reload());
  REQUIRE(node.wait_for([&](const KubeletState& state) {
    const ResourceState& resource = state.of("example.com/wanted");
    return resource.registrations.size() > registered && resource.lists_since_registration > 0 &&
           resource.streams == 1;
  }));
  CHECK(empty_lists == 0);

  node.configure(served_anew + counted(kOther, 3));
  REQUIRE(node.reload());
  CHECK(
      node.wait_for([](const KubeletState& state) { return state.of("example.com/removed").capacity == 0; }));
  CHECK(eventually([&] { return empty_lists == 1; }));  // the observer runs after the list is counted
  REQUIRE(node.attached({"example.com/wanted", kOther}));

  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(node.wait_for([](const KubeletState& state) {
    return state.of("example.com/wanted").streams == 0 && state.of(kOther).streams == 0;
  }));
  CHECK(node.of("example.com/wanted").capacity == 0);
  CHECK(node.of(kOther).capacity == 3);
  CHECK(eventually([&] { return empty_lists == 2; }));
}

TEST_CASE("a kubelet that does not read lists does not delay a stop with emptyAtStop") {
  Node node;
  node.configure(counted(kOther, 3, "emptyAtStop: true"));
  node.start_kubelet({.unread = {kOther}});
  node.start_daemon();
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kOther).streams == 1; }));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
}
