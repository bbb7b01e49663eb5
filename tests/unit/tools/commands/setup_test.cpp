// The command plughost setup on simulated nodes.

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "places.hpp"
#include "unit/texts.hpp"
#include "unit/tools/commands/made_root.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

namespace fs = std::filesystem;

const fs::path kNodes = in_source("/tests/nodes");
const fs::path kFound = kFoundOnNodes;
constexpr const char* kDropIn = "/etc/systemd/system/plughost.service.d/10-setup.conf";
constexpr const char* kNodeFile = "/etc/plughost/node.yaml";
constexpr const char* kConfig = "/etc/plughost/config.yaml";

CommandResult setup(const MadeRoot& root, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments{"setup", "--root", root.path()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_plughost(arguments);
}

// Returns each file with its text, and each link with its target.
std::set<std::string> everything(const MadeRoot& root) {
  std::set<std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(root.path())) {
    const std::string path = entry.path();
    if (entry.is_symlink())
      all.insert(path + " -> " + fs::read_symlink(entry.path()).string());
    else
      all.insert(path + (entry.is_regular_file() ? ": " + content(entry.path()) : ""));
  }
  return all;
}

}  // namespace

TEST_CASE("on each node of tests/nodes, setup --dry-run prints what the .out file has, and changes nothing") {
  fs::create_directories(kFound);
  std::size_t nodes = 0;
  for (const auto& entry : fs::directory_iterator(kNodes)) {
    if (entry.path().extension() != ".node") continue;
    ++nodes;
    const MadeRoot root(entry.path());
    const std::set<std::string> before = everything(root);
    const CommandResult finished = setup(root, {"--dry-run"});
    const std::string found =
        finished.output +
        (finished.exit_code == 0 ? "" : "exit " + std::to_string(finished.exit_code) + '\n');
    const fs::path expected = fs::path(entry.path()).replace_extension(".out");
    std::ofstream(kFound / expected.filename()) << found;
    CAPTURE(entry.path().filename().string());
    CHECK(found == content(expected));
    CHECK(everything(root) == before);
  }
  CHECK(nodes >= 16);
}

TEST_CASE("setup writes once, follows a changed configuration, and undo restores the node") {
  const MadeRoot root(kNodes / "k0s-worker.node");
  const std::set<std::string> before = everything(root);

  const CommandResult first = setup(root);
  CHECK(first.exit_code == 0);
  CHECK(has(first.output, std::string("wrote ") + kNodeFile + "\nwrote " + kDropIn +
                              "\nnow: systemctl daemon-reload && systemctl restart plughost\n"));
  CHECK(has(root.text(kDropIn), "Before=k0sworker.service\n"));
  CHECK(has(root.text(kNodeFile), "podResources: /var/lib/k0s/kubelet/pod-resources/kubelet.sock\n"));

  const std::set<std::string> after = everything(root);
  CHECK(has(setup(root).output, "nothing to do: this node has what plughost needs\n"));
  CHECK(setup(root, {"--dry-run"}).output == setup(root).output);
  CHECK(everything(root) == after);

  root.tree().file(kConfig, "listen: 0.0.0.0:9464\nresources: []\n");
  const CommandResult shown = setup(root, {"--dry-run"});
  CHECK(has(shown.output, std::string("--- a") + kDropIn + "\n+++ b" + kDropIn + "\n"));
  CHECK(has(shown.output, "\n Before=k0sworker.service\n"));
  CHECK(has(shown.output, "\n+IPAddressAllow=any\n"));
  CHECK(everything(root).contains((root.path() + kDropIn) + ": " + root.text(kDropIn)));
  CHECK_FALSE(has(root.text(kDropIn), "IPAddressAllow"));
  CHECK(has(setup(root).output, "wrote "));
  CHECK(has(root.text(kDropIn), "IPAddressAllow=any\n"));

  root.tree().file(kConfig, "resources:\n- {name: example.com/token, count: 1}\n");
  CHECK(has(setup(root).output, "wrote "));
  CHECK(everything(root) == after);

  const CommandResult would = setup(root, {"--undo", "--dry-run"});
  CHECK(has(would.output, std::string("--- a") + kDropIn + "\n+++ /dev/null\n"));
  CHECK(everything(root) == after);
  const CommandResult undone = setup(root, {"--undo"});
  CHECK(undone.exit_code == 0);
  CHECK(undone.output == std::string("removed ") + kNodeFile + "\nremoved " + kDropIn +
                             "\nnow: systemctl daemon-reload && systemctl restart plughost\n");
  CHECK(everything(root) == before);
  CHECK(setup(root, {"--undo"}).output ==
        "nothing to do: there is nothing that plughost setup has written\n");
}

TEST_CASE("check reads node.yaml too, and refuses a key that does not belong there") {
  const MadeRoot root(kNodes / "k0s-worker.node");
  REQUIRE(setup(root).exit_code == 0);
  const std::string config = root.path() + kConfig;
  CHECK(has(run_plughost({"check", config}).output, ": 1 entry in 2 files, no errors\n"));
  root.tree().file(kNodeFile, root.text(kNodeFile) + "listen: 127.0.0.1:1\n");
  CHECK(has(run_plughost({"check", config}).output,
            std::string(kNodeFile) + ":6:1: unknown key 'listen'; valid: kubelet, cdi"));
}

TEST_CASE("a handwritten file is never touched") {
  const MadeRoot root(kNodes / "k0s-worker.node");
  root.tree().file(kNodeFile, "kubelet: {}\n");
  const std::set<std::string> before = everything(root);
  const CommandResult refused = setup(root);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, std::string(kNodeFile) + " is there, and plughost setup has not written it; "));
  CHECK(setup(root, {"--dry-run"}).exit_code == 1);
  CHECK(setup(root, {"--undo"}).exit_code == 0);
  CHECK(everything(root) == before);
  // A link to a file with setup's mark is not setup's either.
  root.tree().remove(kNodeFile);
  root.tree().file("/elsewhere", "# Written by plughost setup\n");
  root.tree().link(kNodeFile, root.tree().at("/elsewhere"));
  CHECK(setup(root).exit_code == 1);
  CHECK(root.text("/elsewhere") == "# Written by plughost setup\n");
}

TEST_CASE("an invalid configuration changes nothing, and its errors are printed") {
  const MadeRoot root(kNodes / "k3s-server.node");
  root.tree().file(kConfig, "resources:\n- name: example.com/x\n  cuont: 1\n");
  const std::set<std::string> before = everything(root);
  const CommandResult refused = setup(root);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, "config.yaml:3:3: resources[0]: unknown key 'cuont'"));
  CHECK(has(refused.output, "nothing was changed\n"));
  CHECK(everything(root) == before);
}

TEST_CASE("of two distributions the named one is used") {
  const MadeRoot root(kNodes / "two.node");
  CHECK(setup(root).exit_code == 1);
  CHECK(setup(root, {"--kubernetes", "k0s"}).exit_code == 0);
  CHECK(has(root.text(kDropIn), "Before=k0sworker.service\n"));
  // The named distribution is used even if it is not found on the node.
  CHECK(setup(root, {"--kubernetes", "rke2"}).exit_code == 0);
  CHECK(has(root.text(kDropIn), "Before=rke2-server.service rke2-agent.service\n"));
  CHECK_FALSE(root.exists(kNodeFile));
  CHECK(setup(root, {"--kubernetes", "kind"}).exit_code == 2);
}

TEST_CASE("if no package contains a unit, setup writes one, and removes it when a package contains one") {
  const MadeRoot root(kNodes / "flatcar.node");
  const std::string unit = "/etc/systemd/system/plughost.service";
  const std::string link = "/etc/systemd/system/multi-user.target.wants/plughost.service";
  const CommandResult first = setup(root);
  CHECK(has(first.output,
            "now: systemd-sysusers && systemctl daemon-reload && systemctl enable plughost && systemctl "
            "restart plughost\n"));
  CHECK(has(root.text(unit), "ExecStart=/opt/bin/plughost run --config /etc/plughost/config.yaml\n"));
  CHECK(root.text("/etc/sysusers.d/plughost.conf").ends_with("g plughost -\n"));
  root.tree().link(link, unit);
  CHECK(has(setup(root).output, "nothing to do: "));

  root.tree().file("/usr/lib/systemd/system/plughost.service",
                   content(in_source("/systemd/plughost.service")));
  CHECK(has(setup(root).output, "removed " + unit + '\n'));
  CHECK_FALSE(root.exists(unit));
  CHECK_FALSE(root.exists("/etc/sysusers.d"));
  CHECK_FALSE(root.exists(link));
}

TEST_CASE("a file that cannot be written is an error with the reason, and nothing is changed") {
  const MadeRoot root(kNodes / "k3s-server.node");
  root.tree().file("/etc/systemd/system/plughost.service.d", "this is no directory");
  const CommandResult refused = setup(root);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output,
            std::string(kDropIn) + " cannot be written: Not a directory; nothing was changed\n"));
}

TEST_CASE("a --root that does not exist is a usage error") {
  CHECK(run_plughost({"setup", "--dry-run", "--root", "/nowhere/at/all"}).exit_code == 2);
}

TEST_CASE("only root can set up this machine") {
  const uid_t before = ::geteuid();
  if (before == 0) REQUIRE(::seteuid(65534) == 0);
  const CommandResult refused = run_plughost({"setup"});
  REQUIRE(::seteuid(before) == 0);
  CHECK(refused.exit_code == 1);
  CHECK(has(refused.output, "run it as root, or see them with --dry-run\n"));
}
