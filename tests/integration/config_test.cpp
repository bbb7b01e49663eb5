// Checks refused configurations: cases 6, 7, 15, 37 and 45 of the conformance list.

#include <doctest/doctest.h>

#include "base/system/unix_socket.hpp"
#include "integration/node.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

Finished check(const Node& node, bool strict = false) {
  std::vector<std::string> arguments{"check", node.configuration()};
  if (strict) arguments.push_back("--strict");
  return run_plughost(arguments);
}

Finished run(const Node& node, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run", "--config", node.configuration()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_plughost(arguments);
}

}  // namespace

TEST_CASE("7.6 names that the kubelet forbids are refused when the configuration is loaded, before any RPC") {
  Node node;
  const std::vector<std::string> forbidden{
      "kubernetes.io/gpu",
      "x.kubernetes.io/gpu",
      "requests.example.com/gpu",
      "example.com/a/b",
      "Example.com/gpu",
      "example_.com/gpu",
      "-example.com/gpu",
      "example.com/-gpu",
      "example.com/gpu.",
      "example.com/gp u",
      "example.com/gr\xc3\xbc\xc3\x9f",
      "example.com/" + std::string(64, 'x'),
      "/gpu",
      "example.com/",
      std::string(245, 'a') + "/x",
  };
  std::string resources;
  for (const std::string& name : forbidden) resources += "- {name: \"" + name + "\", count: 1}\n";
  node.configure(resources + counted("example.com/fine", 1));
  node.start_kubelet();
  for (const Finished& finished : {check(node), run(node)}) {
    CHECK(finished.exit_code == 1);
    for (std::size_t i = 0; i < forbidden.size(); ++i) {
      CAPTURE(forbidden[i]);
      CHECK(has(finished, node.configuration() + ":" + std::to_string(i + 3) + ":"));
    }
    CHECK_FALSE(has(finished, "example.com/fine"));
  }
  CHECK(node.kubelet().state().resources.empty());
}

TEST_CASE("7.6 the longest and oddest names that the kubelet accepts are served") {
  Node node;
  const Node::Names names{std::string(63, 'a') + "." + std::string(63, 'b') + "/" + std::string(63, 'X'),
                          "a/b", "1.example/9_x.Y-z"};
  std::string resources;
  for (const std::string& name : names) resources += counted("\"" + name + "\"", 1, "id: \"{resource}\"");
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon();
  CHECK(node.attached(names));
}

TEST_CASE("7.7 a socket path over 107 bytes is never attempted") {
  Node node;
  node.configure(counted("example.com/a", 1));
  // "/plughost-", up to 24 + 1 + 8 + 1 + 10 characters and ".sock" follow.
  const std::size_t longest = 107 - 1 - 60;
  const std::string base = node.path("p");
  REQUIRE(base.size() < longest);

  const std::string too_long = base + std::string(longest + 1 - base.size(), 'p');
  std::filesystem::create_directory(too_long);
  const Finished finished = run(node, {"--plugin-directory", too_long});
  CHECK(finished.exit_code == 1);
  CHECK(has(finished, "107"));
  CHECK(has(finished, "--plugin-directory"));
  CHECK(std::filesystem::is_empty(too_long));

  node.files().file("long.yaml",
                    "kubelet: {directory: " + too_long + "}\nresources:\n" + counted("example.com/a", 1));
  const Finished checked = run_plughost({"check", node.path("long.yaml")});
  CHECK(checked.exit_code == 1);
  CHECK(has(checked, "long.yaml:1:"));

  const std::string just_fits = base + std::string(longest - base.size(), 'p');
  std::filesystem::create_directory(just_fits);
  const std::string name = "domain-with-a-long-name.example.com/gpu";
  StandInKubelet kubelet({.directory = just_fits});
  node.configure(counted(name, 1));
  const Process daemon({"run", "--config", node.configuration(), "--plugin-directory", just_fits,
                        "--state-directory", node.path("state")});
  CHECK(kubelet.wait_for([&](const KubeletState& state) { return state.of(name).attached; }, kLong));
}

TEST_CASE("7.15 ids that two resources would have are refused when the configuration is loaded") {
  Node node;
  node.configure(counted("example.com/a", 3, "id: \"dev-{n}\"") +
                 counted("example.com/b", 3, "id: \"dev-{n}\""));
  const Finished finished = check(node);
  CHECK(finished.exit_code == 1);
  CHECK(has(finished, node.configuration() + ":4:"));
  CHECK(has(finished, "dev-0"));
}

TEST_CASE(
    "7.37 two resources that could give one key different values are a warning, with --strict an error") {
  Node node;
  node.configure(counted("example.com/a", 3, "env: {SHARED: \"{id}\"}") +
                 counted("example.com/b", 3, "env: {SHARED: \"{id}\"}"));
  CHECK(check(node).exit_code == 0);
  CHECK(has(check(node), "SHARED"));
  CHECK(has(check(node), node.configuration() + ":4:"));
  CHECK(check(node, true).exit_code == 1);
  node.start_daemon();
  CHECK(node.daemon().wait_for_line({"warn", "SHARED"}, kLong));

  node.configure(counted("example.com/a", 3, "env: {\"A/{resource}\": \"{id}\", SAME: \"1\"}") +
                 counted("example.com/b", 3, "env: {\"A/{resource}\": \"{id}\", SAME: \"1\"}"));
  CHECK(check(node, true).exit_code == 0);
}

TEST_CASE("7.45 a list over 4 MiB is a configuration error, and not a dead stream") {
  Node node;
  node.configure(counted("example.com/fits", 2'000) + counted("example.com/does-not", 200'000));
  for (const Finished& finished : {check(node), run(node)}) {
    CHECK(finished.exit_code == 1);
    CHECK(has(finished, "4 MiB"));
    CHECK(has(finished, node.configuration() + ":4:"));
    CHECK_FALSE(has(finished, node.configuration() + ":3:"));
  }
}

TEST_CASE("a bad configuration at start leads to exit code 1, and to every error with its line") {
  Node node;
  node.configure(
      "- {name: example.com/a, count: 1, envs: {A: b}}\n"
      "- {name: example.com/b, count: many}\n"
      "- {name: example.com/c}\n"
      "- {name: example.com/d, count: 1, env: {A: \"{colour}\"}}\n"
      "- {name: example.com/e, counts: 1}\n");
  for (const Finished& finished : {check(node), run(node)}) {
    CHECK(finished.exit_code == 1);
    for (const char* line : {":3:", ":4:", ":5:", ":6:", ":7:"}) {
      CAPTURE(line);
      CHECK(has(finished, node.configuration() + line));
    }
  }
  CHECK(run_plughost({"run", "--config", node.path("no-such-file")}).exit_code == 1);
  CHECK(run_plughost({"run", "--no-such-option"}).exit_code == 2);
}

TEST_CASE("missing credentials for the API server are an error on a node, and a warning elsewhere") {
  Node node;
  node.set_top("apiServer: {kubeconfig: " + node.path("nowhere") + "}\nevents: true\n");
  node.configure(counted("example.com/a", 2));
  const std::string error = ": apiServer: the kubeconfig " + node.path("nowhere") +
                            " cannot be opened: No such file or directory; `events` needs it";
  Finished checked = check(node);
  CHECK(checked.exit_code == 0);
  CHECK(has(checked, "warning: " + node.configuration() + ":"));
  CHECK(has(checked, error));
  CHECK(check(node, true).exit_code == 1);

  node.files().file("device-plugins/kubelet.sock");
  checked = check(node);
  CHECK(checked.exit_code == 1);
  CHECK(has(checked, error));
  CHECK_FALSE(has(checked, "warning"));

  node.files().file("nowhere",
                    "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                    "clusters: [{name: k, cluster: {server: http://127.0.0.1:1}}]\n"
                    "users: [{name: u, user: {token: t}}]\n");
  CHECK(check(node, true).exit_code == 0);
  node.files().remove("nowhere");
  node.set_top("apiServer: {kubeconfig: " + node.path("nowhere") + "}\n");
  node.configure(counted("example.com/a", 2));
  CHECK(check(node, true).exit_code == 0);  // no server is contacted
}

TEST_CASE("a mount of a socket is no error: check and discover print a note, and check starts no program") {
  Node node;
  const UniqueFd listener = listen_unix(node.path("server.sock"));
  const std::string mounts = "mounts: [{hostPath: " + node.path("server.sock") +
                             "}, {hostPath: /dev/null, containerPath: /run/null}]";
  node.configure("- {name: example.com/a, count: 1, " + mounts +
                 "}\n"
                 "- {name: example.com/b, exec: {discover: [/bin/sh, -c, \"touch " +
                 node.path("started") + "; echo '{\\\"devices\\\": []}'\"]}, " + mounts + "}\n");
  const std::string note = "note: example.com/a: " + node.path("server.sock") + " is a socket: ";
  const Finished checked = check(node, true);
  CHECK(checked.exit_code == 0);
  CHECK(has(checked, note));
  CHECK_FALSE(has(checked, "/dev/null"));
  CHECK_FALSE(std::filesystem::exists(node.path("started")));
  CHECK(has(run_plughost({"discover", "--config", node.configuration()}), note));
}
