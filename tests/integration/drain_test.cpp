// Checks plughost drain and undrain, with a daemon that serves a kubelet.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A node with two attached resources: gopher's devices are files, and token's devices have three shares each.
struct DrainRig {
  DrainRig() {
    node.files().file("gophers/amy");
    node.files().file("gophers/bob");
    configure();
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kGopher, kToken}));
  }

  void configure(const std::string& more = {}) {
    node.configure(listed(kGopher, node.path("gophers"), more) + counted(kToken, 2, "replicas: 3"));
  }
  Finished plughost(std::vector<std::string> words) const {
    words.insert(words.end(), {"--control", node.control()});
    return run_plughost(words);
  }
  // Checks that the command succeeds with this output.
  void done(const std::vector<std::string>& words, const std::string& part) const {
    const Finished ended = plughost(words);
    CAPTURE(ended.output);
    CHECK(ended.exit_code == 0);
    CHECK(ended.output.find(part) != std::string::npos);
  }
  json drains() const { return json::parse(plughost({"status", "-o", "json"}).output)["drains"]; }
  // Returns the error of an Allocate of the device.
  std::string refusal(const std::string& id) {
    static int pods = 0;
    return node.kubelet().allocate_named("pod-" + std::to_string(++pods), "main", kGopher, {id}).error;
  }

  Node node{{.pod_resources = true}};
};

}  // namespace

TEST_CASE(
    "a drained device is Unhealthy with the drain's reason in status and events, and its pods are listed") {
  DrainRig running;
  REQUIRE(running.node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"}).admitted());
  REQUIRE(eventually([&] {
    return running.plughost({"status", kGopher}).output.find("pod-a") != std::string::npos;
  }));
  running.done({"drain", kGopher + "=amy", "--reason", "the fan", "--for", "2h"}, "still in use by:\n");
  CHECK(running.node.unhealthy(kGopher, "amy"));
  CHECK(running.node.healthy(kGopher, "bob", 0ms));

  const std::string drained = "drained until ";
  CHECK(running.plughost({"status", kGopher}).output.find("Unhealthy: " + drained) != std::string::npos);
  CHECK(running.plughost({"status"}).output.find(kGopher + "=amy has been drained for ") !=
        std::string::npos);
  REQUIRE(running.drains().size() == 1);
  CHECK(running.drains()[0]["resource"] == kGopher);
  CHECK(running.drains()[0]["device"] == "amy");
  CHECK(running.drains()[0]["reason"] == "the fan");
  CHECK(running.drains()[0]["until"] > running.drains()[0]["since"]);
  const std::string events = running.plughost({"events"}).output;
  CHECK(events.find("device drained resource=" + kGopher + " device=amy why=\"drained until ") !=
        std::string::npos);
  CHECK(events.find("devices turned Unhealthy resource=" + kGopher + " devices=amy") != std::string::npos);
  // The second drain has no end, and no pod holds its device.
  running.done({"drain", kGopher + "=bob"}, kGopher + "=bob is drained\nno pod holds it\n");
}

TEST_CASE(
    "a container that requests a drained device is refused with the reason, until the device is undrained") {
  DrainRig running;
  running.done({"drain", kGopher + "=amy", "--reason", "the fan"}, "");
  REQUIRE(running.node.unhealthy(kGopher, "amy"));
  // A kubelet that has not read the list yet may request the device.
  const AllocateAnswer asked = running.node.kubelet().allocate_ids(kGopher, {"amy"});
  CHECK(asked.text.find("is Unhealthy: drained: the fan") != std::string::npos);
  running.done({"undrain", kGopher + "=amy"}, kGopher + "=amy is back in service\n");
  CHECK(running.node.healthy(kGopher, "amy"));
  CHECK(running.refusal("amy").empty());
  CHECK(running.drains().empty());
}

TEST_CASE("a scan that never ends does not delay a drain") {
  Node node;
  node.files().file(
      "list",
      "cd \"$1\"; [ ! -e hang ] || { touch began; exec sleep 1000; }; echo '{\"devices\": [{\"id\": "
      "\"a\"}, {\"id\": \"b\"}]}'\n");
  node.configure("- {name: " + kGopher + ", exec: {discover: [/bin/sh, " + node.path("list") + ", " +
                 node.files().path().string() + "], interval: 1s, timeout: 1m}}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  node.files().file("hang");
  REQUIRE(eventually([&] { return std::filesystem::exists(node.path("began")); }));
  CHECK(run_plughost({"drain", kGopher + "=a", "--control", node.control()}).exit_code == 0);
  CHECK(node.unhealthy(kGopher, "a"));
  CHECK(node.healthy(kGopher, "b", 0ms));
  CHECK(run_plughost({"undrain", kGopher + "=a", "--control", node.control()}).exit_code == 0);
  CHECK(node.healthy(kGopher, "a"));
}

TEST_CASE(
    "a drain survives a reload, a restart of its entry, a kill of the daemon, and the device's absence") {
  DrainRig running;
  Node& node = running.node;
  running.done({"drain", kGopher + "=amy", "--reason", "the fan"}, "is drained: the fan");
  running.configure("env: {A: b}");
  REQUIRE(node.reload());
  running.configure("allocationPolicy: packed");  // this needs a new endpoint
  REQUIRE(node.reload());
  REQUIRE(node.attached({kGopher}));
  CHECK(node.unhealthy(kGopher, "amy"));

  node.daemon().signal(SIGKILL);
  REQUIRE(node.daemon().wait_for_exit(kLong));
  const auto registrations = node.of(kGopher).registrations.size();
  node.start_daemon();
  CHECK(node.daemon().wait_for_line({"devices still drained from before the start", "count=1"}, kLong));
  REQUIRE(node.wait_for([&](const KubeletState& state) {
    return state.of(kGopher).registrations.size() > registrations && state.of(kGopher).devices->size() == 2;
  }));
  REQUIRE(node.attached({kGopher}));
  CHECK(node.unhealthy(kGopher, "amy"));
  CHECK(node.healthy(kGopher, "bob"));

  node.files().remove("gophers/amy");
  REQUIRE(eventually([&] {
    return running.plughost({"status", kGopher}).output.find("drained: the fan; and by itself: it is gone") !=
           std::string::npos;
  }));
  node.files().file("gophers/amy");
  REQUIRE(eventually([&] {
    return running.plughost({"status", kGopher}).output.find("by itself") == std::string::npos;
  }));
  CHECK(node.unhealthy(kGopher, "amy", 0ms));
  running.done({"undrain", kGopher + "=amy"}, "");
  CHECK(node.healthy(kGopher, "amy"));
  node.daemon().signal(SIGKILL);
  REQUIRE(node.daemon().wait_for_exit(kLong));
  node.start_daemon();
  CHECK(eventually([&] { return running.plughost({"status"}).exit_code == 0; }));
  CHECK(running.drains().empty());
}

TEST_CASE("a drain ends when its time is over, and a second drain replaces reason and time") {
  DrainRig running;
  running.done({"drain", kToken + "=" + kToken + "-0::2", "--reason", "first"}, "is drained: first");
  REQUIRE(running.node.unhealthy(kToken, kToken + "-0::0"));
  running.done({"drain", kToken + "=" + kToken + "-0", "--for", "1h"}, kToken + "-0 is drained until ");
  const json replaced = running.drains();
  REQUIRE(replaced.size() == 1);
  CHECK(replaced[0]["reason"] == "");
  running.done({"drain", kToken + "=" + kToken + "-0", "--for", "1s"}, kToken + "-0 is drained until ");
  CHECK(running.node.healthy(kToken, kToken + "-0::0"));
  CHECK(running.node.daemon().wait_for_line({"device undrained", kToken + "-0", "its time is over"}, kLong));
  CHECK(running.drains().empty());
}

TEST_CASE("a drain of an unknown device is refused with the known ones, and changes nothing") {
  const DrainRig running;
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& why) {
    const Finished ended = running.plughost(words);
    CAPTURE(words);
    CHECK(ended.exit_code == code);
    CHECK(ended.output == why + "\n");
  };
  refused({"drain", kGopher + "=cem"}, 1, "there is no device of " + kGopher + " cem; there are amy, bob");
  refused({"drain", "example.com/x=amy"}, 1,
          "there is no resource example.com/x; there are " + kGopher + ", " + kToken);
  refused({"undrain", kGopher + "=amy"}, 1,
          "there is no drained device " + kGopher + "=amy; there is none at all");
  refused({"drain", kGopher + "=amy", "--for", "2"}, 2, "2 is not a duration; write it as 90s, 2h30m or 3d");
  refused({"drain", kGopher + "=amy", "--for", "999ms"}, 2, "a device is drained for a second to 1000 days");
  refused({"drain", kGopher + "=amy", "--reason", "a\nb"}, 2,
          "the reason is one line, without control characters");
  CHECK(running.plughost({"drain", "=amy"}).exit_code == 2);
  CHECK(running.plughost({"drain", kGopher + "="}).exit_code == 2);
  CHECK(running.drains().empty());
  CHECK_FALSE(std::filesystem::exists(running.node.path("state")));
}

TEST_CASE(
    "after a drain file was damaged, no device is in service until somebody decides, and status says so") {
  DrainRig running;
  running.done({"drain", kGopher + "=amy"}, "");
  const std::string file = running.node.path("state/drains.json");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  running.node.start_daemon();
  CHECK(running.node.daemon().wait_for_line(
      {"error", "cannot read which devices are drained: every device is out of service", file,
       "kept as " + file + ".broken"},
      kLong));
  CHECK(running.node.attached({kGopher}));
  CHECK(std::filesystem::exists(file + ".broken"));
  CHECK(running.node.unhealthy(kGopher, "amy"));
  CHECK(running.node.unhealthy(kGopher, "bob"));
  CHECK(running.plughost({"status"}).output.find("every device has been drained for ") != std::string::npos);
  const Finished check = running.plughost({"status", "--check"});
  CHECK(check.exit_code == 1);
  CHECK(check.output.find("every device is out of service: drains are unreadable") != std::string::npos);
  CHECK(running.node.kubelet()
            .allocate_ids(kGopher, {"bob"})
            .text.find("`plughost undrain --unreadable` ends this") != std::string::npos);

  running.done({"drain", kGopher + "=amy"}, "");
  running.done({"undrain", "--unreadable"}, "every device is back in service\n");
  CHECK(running.node.healthy(kGopher, "bob"));
  CHECK(running.node.unhealthy(kGopher, "amy"));
  CHECK(running.plughost({"status", "--check"}).exit_code == 0);
}

TEST_CASE("a whole resource is drained, with its holders, and undrained") {
  DrainRig running;
  REQUIRE(running.node.kubelet().allocate_named("pod-a", "main", kGopher, {"amy"}).admitted());
  REQUIRE(eventually([&] {
    return running.plughost({"status", kGopher}).output.find("pod-a") != std::string::npos;
  }));
  running.done({"drain", kGopher, "--reason", "the rack"},
               kGopher + ", every device, is drained: the rack\nstill in use by:\n");
  CHECK(running.node.unhealthy(kGopher, "amy"));
  CHECK(running.node.unhealthy(kGopher, "bob"));
  running.node.files().file("gophers/cem");
  CHECK(running.node.unhealthy(kGopher, "cem"));
  running.done({"drain", kGopher}, "is drained (before: drained: the rack)\n");
  running.done({"undrain", kGopher}, kGopher + ", every device, is back in service\n");
  CHECK(running.node.healthy(kGopher, "bob"));
  CHECK(running.node.healthy(kGopher, "cem"));
}

TEST_CASE("a drain that cannot be saved takes effect, and is reported as unsaved") {
  DrainRig running;
  running.node.files().file("state");
  running.done({"drain", kGopher + "=amy"}, "warning: the drain would not survive a restart of plughost: " +
                                                running.node.path("state/drains.json"));
  CHECK(running.node.unhealthy(kGopher, "amy"));
  CHECK(running.node.daemon().wait_for_line({"error", "cannot save drained devices: a restart loses them"},
                                            kLong));
  running.node.files().remove("state");
  CHECK(running.node.daemon().wait_for_line({"drained devices saved"}, kLong));
  CHECK(std::filesystem::exists(running.node.path("state/drains.json")));
}

TEST_CASE("a user other than root and plughost's own may read the control socket, but may not drain") {
  if (::geteuid() != 0) return;
  DrainRig running;
  REQUIRE(::chmod(running.node.control().c_str(), 0666) == 0);
  std::filesystem::permissions(running.node.files().path(), std::filesystem::perms(0755));
  std::filesystem::permissions(std::filesystem::path(running.node.control()).parent_path(),
                               std::filesystem::perms(0755));
  const std::vector<std::string> nobody{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  CHECK(run_plughost({"status", "--control", running.node.control()}, nobody).exit_code == 0);
  for (const char* command : {"drain", "undrain"}) {
    const Finished ended =
        run_plughost({command, kGopher + "=amy", "--control", running.node.control()}, nobody);
    CHECK(ended.exit_code == 1);
    CHECK(ended.output == "only root may take a device out of service, and back into it\n");
  }
  CHECK(running.drains().empty());
}
