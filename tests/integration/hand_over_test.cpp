// Checks that a second daemon takes over from a first one, while both run.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/text/json.hpp"
#include "integration/fewest.hpp"
#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

constexpr Node::Options kBySocket{.registering = StandInKubelet::Registering::kBySocket};

void attach_a(Node& node, StandInKubelet::OnEvent on_event = {}) {
  node.start_kubelet({}, std::move(on_event));
  node.start_daemon();
  REQUIRE(node.attached({kA}));
}

// Starts two daemons as pods are started: the first has no predecessor, and the second one replaces it.
void replace_a_pod(Node& node) {
  node.configure(counted(kA, 3));
  node.start_kubelet();
  node.start_successor();
  REQUIRE(node.attached({kA}));
  node.start_successor();
  REQUIRE(node.daemon().wait_for_line({"taken over"}, kLong));
}

Finished by_control(Node& node, std::vector<std::string> words) {
  words.insert(words.end(), {"--control", node.control()});
  return run_plughost(words);
}

// The process that an upgrade has started.
class Upgraded {
 public:
  explicit Upgraded(const Finished& finished) {
    CAPTURE(finished.output);
    const std::string before = "plughost runs as process ";
    REQUIRE(finished.output.starts_with(before));
    pid_ = std::stoi(finished.output.substr(before.size()));
  }
  ~Upgraded() { end(); }
  Upgraded& operator=(Upgraded&&) = delete;

  pid_t pid() const { return pid_; }
  // It has the output of the process that has started it.
  void end() const { ::kill(pid_, SIGKILL); }

 private:
  pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("a successor takes over while a kubelet of 1.37 counts all devices throughout") {
  Fewest fewest(kA);
  Node node(kBySocket);
  node.configure(counted(kA, 3) + counted(kB, 2));
  node.start_kubelet({}, fewest.listener());
  node.start_daemon();
  REQUIRE(node.attached({kA, kB}));
  const std::string before = node.of(kA).registrations.back().endpoint;
  node.start_successor();
  REQUIRE(node.daemon().wait_for_line({"taken over"}, kLong));
  CHECK(node.wait_for([](const KubeletState& state) {
    // The list comes again after the predecessor's streams have ended.
    return state.of(kA).streams == 1 && state.of(kB).streams == 1 &&
           state.of(kA).lists_since_registration == 2;
  }));
  CHECK(node.of(kA).registrations.size() == 2);
  CHECK(node.of(kA).registrations.back().endpoint != before);
  CHECK(fewest.count() == 3);
  CHECK(node.socket_files().size() == 2);
  CHECK(node.kubelet().allocate("pod", "main", kA, 3).admitted());
  CHECK(has(by_control(node, {"status"}), "attached"));
  // A pod's process must not end by itself: the kubelet would start it again.
  CHECK(node.former().running());
  CHECK(has(node.former().output(), "handed over to the successor"));
  node.former().signal(SIGTERM);
  CHECK(node.former().wait_for_exit(kLong) == 0);
  CHECK(node.attached({kA, kB}));
}

TEST_CASE("a successor takes over from a kubelet up to 1.36 once it has its lists") {
  Node node(each_kubelet());
  node.configure(counted(kA, 3));
  attach_a(node);
  node.start_successor();
  REQUIRE(node.daemon().wait_for_line({"taken over"}, kLong));
  CHECK(node.wait_for([](const KubeletState& state) {
    return state.of(kA).attached && state.of(kA).registrations.size() == 2 && state.of(kA).allocatable == 3;
  }));
  CHECK(node.kubelet().allocate("pod", "main", kA, 3).admitted());
  CHECK(node.socket_files().size() == 1);
}

TEST_CASE("a successor that has registered and is killed leaves all devices to its predecessor") {
  Fewest fewest(kA);
  Node node(kBySocket);
  node.files().file("gophers/one");
  node.configure(counted(kA, 3) + counted(kB, 2));
  node.start_kubelet({}, fewest.listener());
  node.start_daemon();
  REQUIRE(node.attached({kA, kB}));
  // The kubelet does not answer for the second resource, so the successor cannot finish.
  StandInKubelet::Faults faults;
  faults.dial_held = {kB};
  node.kubelet().set_faults(faults);
  node.start_successor();
  REQUIRE(node.wait_for([](const KubeletState& state) {
    return state.of(kA).registrations.size() == 2 && state.of(kA).streams == 2;
  }));
  node.daemon().signal(SIGKILL);
  REQUIRE(node.daemon().wait_for_exit(kLong));
  node.kubelet().set_faults({});
  REQUIRE(node.former().wait_for_line({"the successor has failed", "serves on"}, kLong));
  CHECK(node.wait_for([](const KubeletState& state) {
    return state.of(kA).streams == 1 && state.of(kA).registrations.size() == 3 && state.of(kB).attached;
  }));
  CHECK(fewest.count() == 3);
  CHECK(node.kubelet().allocate("pod", "main", kA, 3).admitted());
  CHECK(node.kubelet().allocate("other", "main", kB, 2).admitted());
  CHECK(has(by_control(node, {"drain", kA + "=" + ids_of(node.of(kA))[1]}), "drained"));
}

TEST_CASE("a replaced daemon of a pod ends, to be started again, once its successor has ended") {
  Node node(kBySocket);
  replace_a_pod(node);
  REQUIRE(node.former().running());
  SUBCASE("by a signal, as when its pod is deleted") { node.daemon().signal(SIGTERM); }
  SUBCASE("by a crash") { node.daemon().signal(SIGKILL); }
  REQUIRE(node.daemon().wait_for_exit(kLong));
  CHECK(node.former().wait_for_exit(kLong) == 1);
  CHECK(has(node.former().output(), "the successor has ended"));
}

TEST_CASE("a replaced daemon of a pod waits on while its successor hands over in turn") {
  Node node(kBySocket);
  replace_a_pod(node);
  const Upgraded upgraded(by_control(node, {"upgrade"}));
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
  CHECK_FALSE(node.former().wait_for_exit(1500ms));
}

TEST_CASE("plughost status --here fails if the daemon runs in another container") {
  Node node(kBySocket);
  node.configure(counted(kA, 3));
  attach_a(node);
  const std::vector<std::string> words = {"status", "--here", "--control", node.control()};
  CHECK(run_plughost(words).exit_code == 0);
  need_mounts();  // the same right makes a pid namespace
  const Finished apart = run_plughost(words, {"unshare", "--pid", "--fork"});
  CHECK(apart.exit_code == 1);
  CHECK(has(apart, "the plughost of another container answers on " + node.control()));
}

TEST_CASE("a successor whose configuration is refused changes nothing") {
  Node node(kBySocket);
  node.configure(counted(kA, 3));
  attach_a(node);
  node.files().file("config.yaml", "resources: [{name: example.com/a, count: many}]\n");
  node.start_successor();
  CHECK(node.daemon().wait_for_exit(kLong) == 1);
  CHECK(node.of(kA).registrations.size() == 1);
  CHECK(node.of(kA).attached);
}

TEST_CASE("with --take-over and no daemon at the socket a daemon starts as usual") {
  Node node(kBySocket);
  node.configure(counted(kA, 3));
  node.start_kubelet();
  node.start_successor();
  CHECK(node.attached({kA}));
}

TEST_CASE("plughost upgrade replaces the daemon by a process of init, and all devices stay counted") {
  Fewest fewest(kA);
  Node node(kBySocket);
  node.configure(counted(kA, 3));
  attach_a(node, fewest.listener());
  const pid_t before = node.daemon().pid();
  const Upgraded upgraded(by_control(node, {"upgrade"}));
  CHECK(upgraded.pid() != before);
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 1; }));
  CHECK(fewest.count() == 3);
  CHECK(node.kubelet().allocate("pod", "main", kA, 3).admitted());
  const Finished status = by_control(node, {"status", "-o", "json"});
  CHECK(Json::parse(status.output)["resources"].array().at(0)["stage"].text() == "attached");
  SUBCASE("again, by a successor of its own") {
    const Upgraded again(by_control(node, {"upgrade"}));
    CHECK(again.pid() != upgraded.pid());
    CHECK(node.attached({kA}));
    CHECK(fewest.count() == 3);
    again.end();
  }
  upgraded.end();
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
}

TEST_CASE("an upgrade is refused, and the daemon serves on") {
  Node node(kBySocket);
  node.configure(counted(kA, 3));
  attach_a(node);
  SUBCASE("while a configuration is on trial") {
    CHECK(by_control(node, {"reload", "--try", "1h"}).exit_code == 0);
    const Finished upgrade = by_control(node, {"upgrade"});
    CHECK(upgrade.exit_code == 1);
    CHECK(has(upgrade, "not upgraded: a configuration is on trial"));
  }
  SUBCASE("if the new process ends at its start") {
    node.files().file("config.yaml", "resources: [{name: example.com/a, count: many}]\n");
    const Finished upgrade = by_control(node, {"upgrade"});
    CHECK(upgrade.exit_code == 1);
    CHECK(has(upgrade, "not upgraded: the new plughost has ended before it took over"));
  }
  CHECK(node.of(kA).registrations.size() == 1);
  CHECK(node.of(kA).attached);
  CHECK(has(by_control(node, {"status"}), "attached"));
}

TEST_CASE("drains outlive a hand-over, and during it none is ordered") {
  Node node(kBySocket);
  node.configure(counted(kA, 3) + counted(kB, 2));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kA, kB}));
  const std::vector<std::string> ids = ids_of(node.of(kA));
  REQUIRE(by_control(node, {"drain", kA + "=" + ids[0]}).exit_code == 0);
  REQUIRE(node.unhealthy(kA, ids[0]));
  StandInKubelet::Faults faults;
  faults.dial_held = {kB};
  node.kubelet().set_faults(faults);
  node.start_successor();
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 2; }));
  for (const auto& words : {std::vector<std::string>{"drain", kA + "=" + ids[1]}, {"reload"}, {"upgrade"}}) {
    const Finished refused = by_control(node, words);
    CAPTURE(words[0]);
    CAPTURE(refused.output);
    CHECK(refused.exit_code == 1);
    CHECK(has(refused, "takes over"));
  }
  // The successor carries out a reload without a caller.
  node.former().signal(SIGHUP);
  node.kubelet().set_faults({});
  REQUIRE(node.daemon().wait_for_line({"taken over"}, kLong));
  CHECK(node.daemon().wait_for_line({"configuration reloaded"}, kLong));
  CHECK(node.unhealthy(kA, ids[0]));
  CHECK(node.healthy(kA, ids[1]));
}

TEST_CASE("an Allocate that waits for its program is answered by the predecessor") {
  Node node(kBySocket);
  const std::string go = node.path("go");
  REQUIRE(::mkfifo(go.c_str(), 0600) == 0);
  node.configure(counted(kA, 3,
                         "allocate: {exec: [/bin/sh, -c, \"touch " + node.path("asked") + "; read line < " +
                             go + "; echo '{{}}'\"]}"));
  attach_a(node);
  Admission admission;
  std::thread pod([&] { admission = node.kubelet().allocate("pod", "main", kA, 1); });
  REQUIRE(eventually([&] { return std::filesystem::exists(node.path("asked")); }));
  node.start_successor();
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 2; }));
  CHECK_FALSE(node.daemon().wait_for_line({"taken over"}, 300ms));
  std::ofstream(go) << "go\n";
  pod.join();
  CHECK(admission.error.empty());
  CHECK(node.daemon().wait_for_line({"taken over"}, kLong));
}
