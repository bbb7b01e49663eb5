// Checks configurations on trial: `plughost reload --confirm`, `--keep` and `watch: {confirm: …}`.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "integration/http_client.hpp"
#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const std::string kGivenUp = "configuration on trial rolled back";

// A node on which resource a with two devices and resource b with one device are attached.
struct ConfirmRig {
  explicit ConfirmRig(const std::string& top = {}) {
    node.set_top(top);
    configure(2);
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kA, kB}));
  }

  void configure(int devices, const std::string& more = {}) {
    node.configure(counted(kA, devices, more) + counted(kB, 1));
  }
  Finished reload(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), "reload");
    words.insert(words.end(), {"--control", node.control()});
    return run_plughost(words);
  }
  // Puts the configuration in the file on trial.
  void try_for(const std::string& duration) const {
    const Finished tried = reload({"--confirm", duration});
    INFO(tried.output);
    REQUIRE(tried.exit_code == 0);
    REQUIRE(tried.output.find("\non trial until 20") != std::string::npos);
  }
  std::string status_text() const { return run_plughost({"status", "--control", node.control()}).output; }
  json configuration() const {
    return json::parse(
        run_plughost({"status", "-o", "json", "--control", node.control()}).output)["configuration"];
  }
  bool says(std::string_view words) const { return node.daemon().wait_for_line({words}, kLong); }

  mutable Node node;
};

}  // namespace

TEST_CASE(
    "a configuration that is not confirmed is rolled back when its time ends, and every channel reports it") {
  ConfirmRig running;
  const json before = running.configuration();
  CHECK(before["trialUntil"].is_null());
  CHECK(before["givenUpAt"].is_null());
  running.configure(3);
  running.try_for("4s");
  REQUIRE(running.node.count(kA, 3));
  const json on_trial = running.configuration();
  CHECK(on_trial["trialUntil"].is_string());
  CHECK(on_trial["hash"] != before["hash"]);
  CHECK(running.status_text().find("on trial: rolls back in ") != std::string::npos);

  REQUIRE(running.node.count(kA, 2));
  CHECK(running.node.daemon().wait_for_line({kGivenUp, "not confirmed within 4 s"}, kLong));
  const json after = running.configuration();
  CHECK(after["trialUntil"].is_null());
  CHECK(after["givenUpAt"].is_string());
  CHECK(after["givenUpWhy"] == "not confirmed within 4 s");
  CHECK(after["hash"] == before["hash"]);
  CHECK(after["loadedAt"] == before["loadedAt"]);
  CHECK(running.status_text().find("a configuration was rolled back ") != std::string::npos);
  CHECK(running.node.of(kB).registrations.size() == 1);

  const Finished late = running.reload({"--keep"});
  CHECK(late.exit_code == 1);
  CHECK(late.output ==
        "no configuration is on trial: the last one was rolled back: not confirmed within 4 s\n");
  REQUIRE(running.node.reload());
  CHECK(running.node.count(kA, 3));
  CHECK(running.configuration()["givenUpAt"].is_null());
}

TEST_CASE("a configuration that is confirmed stays") {
  ConfirmRig running;
  CHECK(running.reload({"--keep"}).exit_code == 1);
  CHECK(running.reload({"--keep"}).output == "no configuration is on trial\n");
  running.configure(3);
  running.try_for("1h");
  const Finished kept = running.reload({"--keep"});
  CHECK(kept.exit_code == 0);
  CHECK(kept.output == "the configuration is kept\n");
  CHECK(running.says("configuration on trial confirmed"));
  CHECK(running.configuration()["trialUntil"].is_null());
  CHECK(running.reload({"--keep"}).output == "no configuration is on trial\n");
  CHECK(running.node.count(kA, 3));
}

TEST_CASE("a configuration with which the kubelet loses a resource is rolled back at once") {
  ConfirmRig running;
  running.node.kubelet().set_faults({.refused = {{kA, "not this one"}}});
  running.configure(2, "preStart: {exec: [/bin/true]}");  // the resource registers again
  running.try_for("1h");
  CHECK(running.node.daemon().wait_for_line({kGivenUp, "the kubelet has lost " + kA}, kLong));
  CHECK(running.configuration()["trialUntil"].is_null());
  running.node.kubelet().set_faults({});
  CHECK(running.node.attached({kA, kB}));
  CHECK(running.node.of(kB).registrations.size() == 1);
}

TEST_CASE("a resource that the configuration removes is no loss, and neither is a kubelet restart") {
  ConfirmRig running;
  running.node.configure(counted(kA, 3));
  running.try_for("1h");
  REQUIRE(running.node.wait_for([](const KubeletState& state) { return state.of(kB).streams == 0; }));
  running.node.kubelet().stop();
  CHECK_FALSE(running.node.daemon().wait_for_line({kGivenUp}, 6s));
  running.node.kubelet().restart();
  REQUIRE(running.node.count(kA, 3));
  CHECK(running.reload({"--keep"}).exit_code == 0);
}

TEST_CASE("a second trial rolls back to the configuration from before the first") {
  ConfirmRig running;
  running.configure(3);
  running.try_for("1h");
  REQUIRE(running.node.count(kA, 3));
  running.configure(4);
  running.try_for("3s");
  REQUIRE(running.node.count(kA, 4));
  CHECK(running.node.count(kA, 2));
}

TEST_CASE("an applied reload without a trial ends the trial, and a refused one does not") {
  ConfirmRig running;
  running.configure(3);
  running.try_for("1h");
  running.node.files().file("config.yaml", "resources: [");
  CHECK(running.reload().exit_code == 1);
  CHECK(running.configuration()["trialUntil"].is_string());
  running.configure(4);
  REQUIRE(running.node.reload());
  REQUIRE(running.node.count(kA, 4));
  CHECK(running.configuration()["trialUntil"].is_null());
}

TEST_CASE("a rollback evaluates conditions again") {
  ConfirmRig running;
  const std::string conditional =
      counted(kB, 1, "when: {exists: " + running.node.path("card") + "}") + counted(kA, 2);
  running.node.configure(conditional);
  REQUIRE(running.node.reload());
  REQUIRE(running.node.wait_for([](const KubeletState& state) { return state.of(kB).streams == 0; }));
  running.node.configure(counted(kA, 3));
  running.try_for("3s");
  running.node.files().file("card");
  CHECK(running.node.attached({kA, kB}));
  CHECK(running.node.count(kA, 2));
}

TEST_CASE(
    "a change that `watch` has read is rolled back, too, and the file is not read again until it changes") {
  ConfirmRig running("watch: {confirm: 4s}\n");
  running.configure(3);
  REQUIRE(running.node.count(kA, 3));
  REQUIRE(running.node.count(kA, 2));
  REQUIRE(running.says(kGivenUp));
  running.configure(3);
  CHECK_FALSE(running.node.count(kA, 3, kWatched));
  running.configure(4);
  REQUIRE(running.node.count(kA, 4));
  CHECK(running.reload({"--keep"}).exit_code == 0);
  CHECK(running.configuration()["trialUntil"].is_null());
}

TEST_CASE(
    "a file that is rolled back is watched even if it drops `watch`, and its former text needs no trial") {
  ConfirmRig running("watch: {confirm: 4s}\n");
  const json before = running.configuration();
  running.node.set_top("");
  running.configure(3);
  REQUIRE(running.node.count(kA, 3));
  REQUIRE(running.says(kGivenUp));
  REQUIRE(running.node.count(kA, 2));
  running.node.set_top("watch: {confirm: 4s}\n");
  running.configure(2);
  REQUIRE(eventually([&] { return running.configuration()["givenUpAt"].is_null(); }));
  CHECK(running.configuration()["trialUntil"].is_null());
  CHECK(running.configuration()["hash"] == before["hash"]);
}

TEST_CASE(
    "a change that `watch` finds replaces the configuration on trial, and has a full trial of its own") {
  ConfirmRig running("watch: true\n");
  running.try_for("4s");  // the configuration in force
  running.configure(3);
  REQUIRE(running.node.count(kA, 3));
  CHECK(running.node.count(kA, 2));
}

TEST_CASE("a configuration that moves to a missing kubelet is rolled back at once") {
  ConfirmRig running;
  running.node.files().directory("elsewhere");
  running.node.files().file("config.yaml", "kubelet: {directory: " + running.node.path("elsewhere") +
                                               "}\ncontrol: " + running.node.control() + "\nresources:\n" +
                                               counted(kA, 2) + counted(kB, 1));
  running.try_for("1h");
  CHECK(running.node.daemon().wait_for_line({kGivenUp, "the kubelet has lost " + kA}, kLong));
  CHECK(running.node.attached({kA, kB}));
}

TEST_CASE("the control socket of a configuration on trial is removed when the configuration is rolled back") {
  ConfirmRig running("listen: 127.0.0.1:0\n");
  const std::string former = running.node.control();
  running.node.set_control("run/tried.sock");
  running.configure(3);
  const Finished tried = run_plughost({"reload", "--confirm", "4s", "--control", former});
  REQUIRE(tried.exit_code == 0);
  CHECK(running.configuration()["trialUntil"].is_string());
  const auto metrics = [&] { return http(http_port(running.node), "/metrics").body; };
  CHECK(metrics().find("\nplughost_config_on_trial 1\n") != std::string::npos);
  REQUIRE(running.says(kGivenUp));
  CHECK(eventually([&] { return running.reload().exit_code == 1; }));
  running.node.set_control("run/control.sock");
  CHECK(running.configuration()["givenUpAt"].is_string());
  CHECK(metrics().find("\nplughost_config_on_trial 0\n") != std::string::npos);
  CHECK(metrics().find("\nplughost_config_last_reload_successful 0\n") != std::string::npos);
}

TEST_CASE("a rollback that fails is retried, and no reload counts as refused") {
  ConfirmRig running;
  const std::string former = running.node.control();
  running.node.set_control("run/tried.sock");
  running.configure(3);
  REQUIRE(run_plughost({"reload", "--confirm", "3s", "--control", former}).exit_code == 0);
  running.node.files().file("run/control.sock");  // an obstacle that is never replaced
  REQUIRE(running.says("configuration on trial cannot be rolled back"));
  CHECK(running.configuration()["trialUntil"].is_string());
  CHECK(running.node.count(kA, 3));
  running.node.files().remove("run/control.sock");
  REQUIRE(running.says(kGivenUp));
  CHECK(running.node.count(kA, 2));
  CHECK(running.node.daemon().count_lines("configuration not reloaded") == 0);
  CHECK(running.node.daemon().count_lines("configuration on trial cannot be rolled back") == 1);
}

TEST_CASE("a configuration whose rollback fails can be confirmed") {
  ConfirmRig running;
  const std::string former = running.node.control();
  running.node.set_control("run/tried.sock");
  running.configure(3);
  REQUIRE(run_plughost({"reload", "--confirm", "3s", "--control", former}).exit_code == 0);
  running.node.files().file("run/control.sock");
  REQUIRE(running.says("configuration on trial cannot be rolled back"));
  CHECK(running.reload({"--keep"}).exit_code == 0);
  CHECK(running.configuration()["trialUntil"].is_null());
  CHECK(running.node.count(kA, 3));
}

TEST_CASE("a daemon that restarts during a trial uses the file on trial, and ends the trial") {
  ConfirmRig running;
  running.configure(3);
  running.try_for("1h");
  running.node.start_daemon();
  REQUIRE(running.node.wait_for(
      [](const KubeletState& state) { return state.of(kA).registrations.size() == 2; }));
  CHECK(running.node.count(kA, 3));
  CHECK(running.reload({"--keep"}).output == "no configuration is on trial\n");
}

TEST_CASE("a trial with an invalid duration, or together with --keep, is a usage error") {
  ConfirmRig running;
  for (const char* const duration : {"0s", "999ms", "86401s", "soon", "5"})
    CHECK(running.reload({"--confirm", duration}).exit_code == 2);
  CHECK(running.reload({"--confirm", "5m", "--keep"}).exit_code == 2);
  CHECK(running.reload({"--keep", "--log-level", "debug"}).exit_code == 2);
  CHECK(running.configuration()["trialUntil"].is_null());
}
