// Checks plughost doctor on a node with a stand-in kubelet.

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "integration/node.hpp"

using namespace plughost::test;

namespace {

nlohmann::json findings(const Node& node, int expected_code) {
  const Finished finished = run_plughost({"doctor", "--config", node.configuration(), "-o", "json"});
  CAPTURE(finished.output);
  CHECK(finished.exit_code == expected_code);
  return nlohmann::json::parse(finished.output);
}

// Returns the first finding of a check.
nlohmann::json of(const nlohmann::json& findings, const std::string& check) {
  for (const auto& finding : findings) {
    if (finding.at("check") == check) return finding;
  }
  FAIL("nothing of " << check);
  return {};
}

}  // namespace

TEST_CASE("doctor finds the kubelet, the daemon, and a socket without a listener") {
  Node node;
  std::filesystem::permissions(node.plugins(), std::filesystem::perms(0750));
  node.configure(counted("example.com/x", 2));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/x"}));
  const auto healthy = findings(node, 0);
  CHECK(of(healthy, "kubelet").at("level") == "ok");
#ifndef PLUGHOST_EMULATED  // there the process is qemu's
  // doctor also finds the daemons of tests that run at the same time.
  CHECK(std::ranges::any_of(
      healthy, [](const auto& each) { return each.at("check") == "daemon" && each.at("level") == "ok"; }));
#endif
  CHECK(of(healthy, "devices").at("what") == "2 devices, all healthy");
  CHECK(of(healthy, "stale-sockets").at("what") == "no stale socket; plugins that listen: 1");

  node.daemon().signal(SIGKILL);
  REQUIRE(node.daemon().wait_for_exit(kLong));
  const auto killed = findings(node, 0);
  CHECK(of(killed, "stale-sockets").at("level") == "note");
}
