// Checks plughost status, events and reload, with a daemon that serves a kubelet.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/system/unix_socket.hpp"
#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A node with two attached resources: gopher's devices are files, and token's devices have three shares each.
struct ControlRig {
  ControlRig() : ControlRig(Node::Options{.pod_resources = true}) {}
  explicit ControlRig(const Node::Options& options) : node(options) {
    node.files().file("gophers/amy");
    node.files().file("gophers/bob");
    node.configure(listed(kGopher, node.path("gophers")) + counted(kToken, 2, "replicas: 3"));
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kGopher, kToken}));
  }

  Finished plughost(std::vector<std::string> words) const {
    words.insert(words.end(), {"--control", node.control()});
    return run_plughost(words);
  }
  json status(const std::string& name = "") const {
    std::vector<std::string> words{"status", "-o", "json"};
    if (!name.empty()) words.push_back(name);
    const Finished ended = plughost(words);
    INFO(ended.output);
    REQUIRE(ended.exit_code == 0);
    return json::parse(ended.output);
  }

  Node node;
};

json device_of(const json& status, const std::string& resource, const std::string& id) {
  for (const json& each : status["resources"]) {
    if (each["name"] != resource) continue;
    for (const json& device : each["list"]) {
      if (device["id"] == id) return device;
    }
  }
  return json();
}

}  // namespace

TEST_CASE("status shows the kubelet, the configuration and each resource") {
  const ControlRig running;
  const json status = running.status();
  CHECK(status["kubelet"]["present"] == true);
  CHECK(status["kubelet"]["directory"] == running.node.plugins().string());
  CHECK(status["kubelet"]["process"] == ::getpid());
  CHECK(status["configuration"]["files"][0] == running.node.configuration());
  CHECK(status["configuration"]["refusedAt"].is_null());
  REQUIRE(status["resources"].size() == 2);
  CHECK(status["resources"][0]["name"] == kGopher);
  CHECK(status["resources"][0]["stage"] == "attached");
  CHECK(status["resources"][0]["devices"] == json{{"healthy", 2}, {"unhealthy", 0}, {"held", 0}});
  CHECK(status["resources"][1]["devices"]["healthy"] == 6);

  const Finished table = running.plughost({"status"});
  CHECK(table.exit_code == 0);
  CHECK(table.output.find("kubelet: running for ") != std::string::npos);
  CHECK(table.output.find(kGopher + "  attached  ") != std::string::npos);
}

TEST_CASE("status of one resource names the pods that hold its devices, share by share") {
  ControlRig running;
  REQUIRE(running.node.kubelet().allocate_named("pod-a", "main", kToken, {kToken + "-0::1"}).admitted());
  REQUIRE(running.node.kubelet().allocate_named("pod-b", "side", kToken, {kToken + "-0::2"}).admitted());
  REQUIRE(
      eventually([&] { return device_of(running.status(), kToken, kToken + "-0")["holders"].size() == 2; }));
  const json status = running.status(kToken);
  REQUIRE(status["resources"].size() == 1);
  CHECK(status["resources"][0]["devices"]["held"] == 2);
  CHECK(status["holdersUnknown"] == "");
  const json holders = device_of(status, kToken, kToken + "-0")["holders"];
  CHECK(holders[0] ==
        json{{"id", kToken + "-0::1"}, {"namespace", "default"}, {"pod", "pod-a"}, {"container", "main"}});
  CHECK(holders[1]["pod"] == "pod-b");
  CHECK(device_of(status, kToken, kToken + "-1")["holders"].empty());
  const Finished table = running.plughost({"status", kToken});
  CHECK(table.output.find("default/pod-a/main") != std::string::npos);
}

TEST_CASE("status -o name prints names for other commands, and -o wide also the entry and the pods") {
  ControlRig running;
  REQUIRE(running.node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"}).admitted());
  REQUIRE(eventually([&] {
    return running.plughost({"status", "-o", "wide"}).output.find("default/pod-a/main") != std::string::npos;
  }));
  CHECK(running.plughost({"status", "-o", "wide"}).output.find("  ENTRY ") != std::string::npos);
  CHECK(running.plughost({"status"}).output.find("default/pod-a/main") == std::string::npos);
  CHECK(running.plughost({"status", "-o", "name"}).output == kGopher + "\n" + kToken + "\n");
  CHECK(running.plughost({"status", kGopher, "-o", "name"}).output ==
        kGopher + "=amy\n" + kGopher + "=bob\n");
}

TEST_CASE("status, drain, undrain and events take a resource's name without its domain") {
  ControlRig running;
  const std::string short_name = kGopher.substr(kGopher.find('/') + 1);
  CHECK(running.plughost({"status", short_name, "-o", "name"}).output ==
        running.plughost({"status", kGopher, "-o", "name"}).output);
  CHECK(running.plughost({"drain", short_name + "=amy"}).output.starts_with(kGopher + "=amy is drained\n"));
  CHECK(running.plughost({"undrain", short_name + "=amy"}).output == kGopher + "=amy is back in service\n");
  CHECK(running.plughost({"events", "--resource", short_name}).output ==
        running.plughost({"events", "--resource", kGopher}).output);

  const Finished unknown = running.plughost({"status", "gofer"});
  CHECK(unknown.exit_code == 1);
  CHECK(unknown.output == "there is no resource gofer; there are " + kGopher + ", " + kToken + "\n");
}

TEST_CASE("a resource with an Unhealthy device shows the device's reason in the table of resources") {
  ControlRig running;
  REQUIRE(running.plughost({"drain", kGopher + "=bob", "--reason", "the fan"}).exit_code == 0);
  CHECK(running.plughost({"status"}).output.find("  bob: drained: the fan\n") != std::string::npos);
}

TEST_CASE("without the pod resources API, status shows the holders of the checkpoint, with the pods' UIDs") {
  ControlRig running(Node::Options{});
  const Admission taken = running.node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"});
  REQUIRE(taken.admitted());
  REQUIRE(eventually([&] { return device_of(running.status(), kGopher, "amy")["holders"].size() == 1; }));
  const json holder = device_of(running.status(), kGopher, "amy")["holders"][0];
  CHECK(holder["namespace"] == "");
  CHECK(holder["container"] == "main");
  CHECK_FALSE(holder["pod"].get<std::string>().empty());
}

TEST_CASE("the status has a reason and a time for a device's health, and for a resource's error") {
  ControlRig running;
  const std::string before = device_of(running.status(), kGopher, "bob")["since"];
  running.node.files().remove("gophers/amy");
  REQUIRE(running.node.unhealthy(kGopher, "amy"));
  const json status = running.status();
  const json amy = device_of(status, kGopher, "amy");
  CHECK(amy["health"] == "Unhealthy");
  CHECK(amy["reason"].get<std::string>().find("gone") != std::string::npos);
  CHECK(amy["since"].get<std::string>() > before);
  CHECK(device_of(status, kGopher, "bob")["since"] == before);

  running.node.kubelet().stop();
  REQUIRE(eventually([&] { return running.status()["kubelet"]["present"] == false; }));
  const json resource = running.status()["resources"][0];
  CHECK(resource["stage"] == "backing off");
  CHECK(resource["trouble"].get<std::string>().find("kubelet") != std::string::npos);
  CHECK_FALSE(resource["troubleAt"].is_null());
  CHECK_FALSE(resource["nextTry"].is_null());
}

TEST_CASE("status --check prints one line, and its exit code is the readiness") {
  ControlRig running;
  Finished check = running.plughost({"status", "--check"});
  CHECK(check.exit_code == 0);
  CHECK(check.output == "2 resources attached, 8 of 8 devices Healthy\n");
  // An Unhealthy device is no problem of the node, unless the entry is required and has no Healthy device.
  running.node.configure(listed(kGopher, running.node.path("gophers"), "required: true") +
                         counted(kToken, 2, "replicas: 3"));
  REQUIRE(running.node.reload());
  running.node.files().remove("gophers/amy");
  REQUIRE(running.node.unhealthy(kGopher, "amy"));
  check = running.plughost({"status", "--check"});
  CHECK(check.exit_code == 0);
  CHECK(check.output == "2 resources attached, 7 of 8 devices Healthy\n");
  running.node.files().remove("gophers/bob");
  REQUIRE(running.node.unhealthy(kGopher, "bob"));
  check = running.plughost({"status", "--check"});
  CHECK(check.exit_code == 1);
  CHECK(check.output == "required, and no device is Healthy: " + kGopher + "\n");
  CHECK(running.plughost({"status"}).output.find("not ready: " + check.output) != std::string::npos);
  check = running.plughost({"status", "--check", "-o", "json"});
  CHECK(check.exit_code == 1);
  CHECK(
      check.output.starts_with("{\n  \"ready\": false,\n  \"exitCode\": 1,\n  \"line\": \"required, and no"));

  running.node.daemon().signal(SIGSTOP);
  check = running.plughost({"status", "--check"});
  running.node.daemon().signal(SIGCONT);
  CHECK(check.exit_code == 2);
  CHECK(check.output.starts_with("plughost does not answer on "));
  running.node.end_daemon();
  check = running.plughost({"status", "--check"});
  CHECK(check.exit_code == 1);
  CHECK(check.output == "plughost does not run\n");
}

TEST_CASE("an unknown resource and a missing daemon are reported with exit code 1") {
  const ControlRig running;
  const Finished unknown = running.plughost({"status", "example.com/none"});
  CHECK(unknown.exit_code == 1);
  CHECK(unknown.output ==
        "there is no resource example.com/none; there are " + kGopher + ", " + kToken + "\n");
  for (const char* command : {"status", "events", "reload"}) {
    const Finished alone = run_plughost({command, "--control", running.node.path("nobody.sock")});
    CHECK(alone.exit_code == 1);
    CHECK(alone.output.find("plughost does not answer: connect " + running.node.path("nobody.sock") +
                            ": No such file or directory (is it running?") == 0);
  }
}

TEST_CASE("status --watch prints each change, until the daemon stops") {
  ControlRig running;
  Process watch({"status", "--watch", "-o", "json", "--control", running.node.control()});
  REQUIRE(watch.wait_for_line({"\"healthy\":2"}, kLong));
  running.node.files().file("gophers/cem");
  CHECK(watch.wait_for_line({"\"healthy\":3", "cem"}, kLong));
  // No event announces the start or end of a pod, but watchers are informed.
  REQUIRE(running.node.kubelet().allocate_named("pod-a", "main", kGopher, {"cem"}).admitted());
  CHECK(watch.wait_for_line({"\"held\":1", "pod-a"}, kLong));
  running.node.daemon().signal(SIGTERM);
  CHECK(running.node.daemon().wait_for_exit(limit(1000ms)) == 0);
  CHECK(watch.wait_for_exit(kLong) == 1);
}

TEST_CASE("events prints the changes of state, oldest first, and with --follow later ones") {
  ControlRig running;
  const Finished all = running.plughost({"events"});
  CHECK(all.exit_code == 0);
  const std::size_t began = all.output.find("plughost 0.1.0 config=");
  const std::size_t attached = all.output.find("attached resource=" + kGopher);
  CHECK(began != std::string::npos);
  REQUIRE(attached != std::string::npos);
  CHECK(began < attached);

  const Finished last = running.plughost({"events", "-n", "1", "-o", "json"});
  CHECK(json::parse(last.output).contains("message"));  // a single line, or it could not be parsed

  Process follow({"events", "--follow", "-n", "1", "--control", running.node.control()});
  // The command follows once it has printed the last event. It does not print earlier events.
  REQUIRE(follow.wait_for_line({}, kLong));
  running.node.files().remove("gophers/amy");
  CHECK(follow.wait_for_line({"warn", "devices are gone", "devices=amy"}, kLong));
}

TEST_CASE("events filters by resource, level and time, and -n counts what is left") {
  ControlRig running;
  running.node.files().remove("gophers/amy");
  // Both are the last events: none comes between two calls of lines().
  REQUIRE(eventually([&] {
    const Finished events = running.plughost({"events"});
    return has(events, "devices are gone") && has(events, "2 of 2 resources attached");
  }));
  const auto lines = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "events");
    const std::string output = running.plughost(words).output;
    return std::ranges::count(output, '\n');
  };
  const auto all = lines({});
  CHECK(lines({"--since", "1h"}) == all);
  CHECK(lines({"--since", "0s"}) == 0);
  CHECK(lines({"--level", "error"}) == 0);
  CHECK(lines({"--level", "debug"}) == all);
  const std::string warned = running.plughost({"events", "--level", "warn"}).output;
  CHECK(warned.find("devices are gone") != std::string::npos);
  CHECK(warned.find(" info ") == std::string::npos);
  const std::string of_token = running.plughost({"events", "--resource", kToken}).output;
  CHECK(of_token.find("attached resource=" + kToken) != std::string::npos);
  CHECK(of_token.find(kGopher) == std::string::npos);
  // The newest event is one of kGopher.
  CHECK(running.plughost({"events", "--resource", kToken, "-n", "1"}).output.find(kToken) !=
        std::string::npos);
}

TEST_CASE("events --follow with a filter prints only later events that the filter selects") {
  ControlRig running;
  Process follow(
      {"events", "--follow", "-n", "1", "--resource", kToken, "--control", running.node.control()});
  REQUIRE(follow.wait_for_line({kToken}, kLong));
  running.node.files().remove("gophers/amy");
  REQUIRE(running.node.unhealthy(kGopher, "amy"));
  REQUIRE(running.plughost({"drain", kToken + "=" + kToken + "-0"}).exit_code == 0);
  CHECK(follow.wait_for_line({"device drained", kToken}, kLong));
  CHECK(follow.output().find(kGopher) == std::string::npos);
}

TEST_CASE("reload prints the changes that it has made, or every error") {
  ControlRig running;
  Node& node = running.node;
  node.configure(listed(kGopher, node.path("gophers"), "env: {A: b}") + counted("example.com/new", 1));
  const Finished good = running.plughost({"reload"});
  CHECK(good.exit_code == 0);
  CHECK(good.output ==
        "added      example.com/new\nchanged    " + kGopher + "\nremoved    " + kToken + "\nunchanged  0\n");
  REQUIRE(node.attached({"example.com/new"}));

  node.configure("- {name: bad, count: none}\n");
  const Finished bad = running.plughost({"reload", "-o", "json"});
  CHECK(bad.exit_code == 1);
  const json answer = json::parse(bad.output);
  CHECK(answer["errors"].size() == 2);
  CHECK(answer["errors"][0].get<std::string>().find("config.yaml:") != std::string::npos);
  CHECK_FALSE(running.status()["configuration"]["refusedAt"].is_null());
  CHECK(node.attached({kGopher, "example.com/new"}));
}

TEST_CASE("the level of reload --log-level lasts until the next reload") {
  ControlRig running;
  const Finished more = running.plughost({"reload", "--log-level", "debug"});
  CHECK(more.exit_code == 0);
  running.node.kubelet().stop();
  std::size_t from = running.node.daemon().mark();
  running.node.kubelet().restart();
  REQUIRE(running.node.attached({kGopher}));
  CHECK(running.plughost({"reload", "--log-level", "error"}).exit_code == 0);
  from = running.node.daemon().mark();
  running.node.files().remove("gophers/amy");
  REQUIRE(running.node.unhealthy(kGopher, "amy"));
  CHECK(running.node.daemon().count_lines("devices are gone", from) == 0);
  // Events are kept even if the log omits them.
  CHECK(running.plughost({"events"}).output.find("devices are gone") != std::string::npos);
  CHECK(running.plughost({"reload"}).exit_code == 0);
  CHECK(running.node.daemon().wait_for_line({"configuration reloaded"}, kLong, from));
}

TEST_CASE("curl on the control socket can read, and can give orders") {
  ControlRig running;
  Node& node = running.node;
  const auto curl = [&](const std::string& words) {
    const std::string command = "curl -sS --fail-with-body --unix-socket " + node.control() + ' ' + words;
    FILE* const told = ::popen(command.c_str(), "r");
    REQUIRE(told != nullptr);
    Finished finished;
    std::array<char, 4096> bytes;
    while (const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), told))
      finished.output.append(bytes.data(), got);
    finished.exit_code = ::pclose(told);
    return finished;
  };
  const Finished status = curl("http://plughost/status.json");
  CHECK(status.exit_code == 0);
  CHECK(json::parse(status.output)["resources"].size() == 2);
  node.configure(listed(kGopher, node.path("gophers")) + counted("example.com/new", 1));
  const Finished reload = curl("-d 'logLevel: debug' http://plughost/reload");
  CHECK(reload.exit_code == 0);
  CHECK(json::parse(reload.output)["added"] == json{"example.com/new"});
  node.configure("- {name: bad, count: none}\n");
  const Finished refused = curl("-X POST http://plughost/reload");
  CHECK(refused.exit_code != 0);
  CHECK(json::parse(refused.output)["errors"].size() == 2);
  const Finished drained =
      curl(R"(-d '{"resource": "example.com/gopher", "device": "amy", "for": "2h"}' http://plughost/drain)");
  CHECK(drained.exit_code == 0);
  CHECK(node.unhealthy(kGopher, "amy"));
}

TEST_CASE("a request without an end is refused before the daemon has read megabytes of it") {
  ControlRig running;
  Node& node = running.node;
  const UniqueFd socket = connect_unix(node.control());
  REQUIRE(::fcntl(socket.get(), F_SETFL, 0) == 0);
  const std::string block(16384, 'x');
  unsigned blocks = 0;
  while (blocks < 10'000 && ::send(socket.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) ++blocks;
  CHECK(blocks < 100);  // the kernel's buffers, and no megabytes in the daemon
  CHECK(running.plughost({"status"}).exit_code == 0);
}

TEST_CASE(
    "without a group, only the owner may use the control socket, which replaces a killed daemon's socket") {
  ControlRig running;
  struct stat file {};
  REQUIRE(::stat(running.node.control().c_str(), &file) == 0);
  CHECK((file.st_mode & 0007) == 0);
  running.node.daemon().signal(SIGKILL);
  REQUIRE(running.node.daemon().wait_for_exit(kLong));
  running.node.start_daemon();
  // Resources are served first. Until then the killed daemon's socket refuses connections.
  REQUIRE(eventually([&] { return running.plughost({"status"}).exit_code == 0; }));
  CHECK(running.status()["resources"].size() == 2);
}

TEST_CASE("a daemon without a control socket serves its devices, and logs why") {
  ControlRig running;
  Node other;
  other.files().file("gophers/amy");
  other.configure(listed(kGopher, other.path("gophers")));
  other.files().file("run");  // a file instead of the socket's directory
  other.start_kubelet();
  other.start_daemon();
  CHECK(other.attached({kGopher}));
  CHECK(other.daemon().wait_for_line({"cannot listen for status requests", "run"}, kLong));

  other.files().directory("more");
  Process second({"run", "--config", other.configuration(), "--control", running.node.control(),
                  "--plugin-directory", other.path("more")});
  CHECK(second.wait_for_line({"another plughost answers on " + running.node.control()}, kLong));
}

TEST_CASE(
    "a reload that moves the control socket is answered on the old socket, and then the new socket serves") {
  ControlRig running;
  Node& node = running.node;
  const std::string former = node.control();
  node.set_control("other/control.sock");
  node.configure(listed(kGopher, node.path("gophers")) + counted("example.com/new", 1));
  const Finished moved = run_plughost({"reload", "--control", former});
  CHECK(moved.exit_code == 0);
  CHECK(moved.output == "added      example.com/new\nremoved    " + kToken + "\nunchanged  1\n");
  CHECK(run_plughost({"status", "--control", node.control()}).exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(former));
}

TEST_CASE("a reload whose control socket cannot be opened changes nothing, and the error has the line") {
  ControlRig running;
  Node& node = running.node;
  const std::string former = node.control();
  node.files().file("precious", "precious");
  node.set_control("precious");
  node.configure(counted("example.com/new", 1));
  const Finished refused = run_plughost({"reload", "--control", former});
  CHECK(refused.exit_code == 1);
  CHECK(refused.output.find(node.configuration() + ":4:10: control: " + node.control() +
                            " is a regular file") != std::string::npos);
  CHECK(run_plughost({"status", kGopher, "--control", former}).exit_code == 0);
  CHECK(run_plughost({"status", "example.com/new", "--control", former}).exit_code == 1);
  CHECK(node.attached({kGopher, kToken}, 0ms));
  CHECK(std::filesystem::file_size(node.control()) == 8);
}

TEST_CASE(
    "--control with the name of a file, even the configuration's, destroys no file and affects no device") {
  Node node;
  node.files().file("gophers/amy");
  node.configure(listed(kGopher, node.path("gophers")));
  node.files().link("link.sock", "run/control.sock");
  node.start_kubelet();
  for (const std::string& path : {node.configuration(), node.path("link.sock")}) {
    CAPTURE(path);
    const auto before = std::filesystem::symlink_status(path).type();
    Process daemon({"run", "--config", node.configuration(), "--plugin-directory", node.plugins().string(),
                    "--control", path, "--state-directory", node.path("state")});
    CHECK(daemon.wait_for_line(
        {"cannot listen for status requests", path, "only an unused socket is replaced"}, kLong));
    CHECK(node.attached({kGopher}));
    daemon.signal(SIGTERM);
    CHECK(daemon.wait_for_exit(limit(1000ms)) == 0);
    CHECK(std::filesystem::symlink_status(path).type() == before);
  }
}
