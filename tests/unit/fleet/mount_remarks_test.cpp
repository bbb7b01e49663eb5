// What is said of a mount that a container can do less with than somebody expects.

#include <doctest/doctest.h>

#include "base/unix_socket.hpp"
#include "fleet/survey.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using Texts = std::vector<std::string>;

namespace {

class Machine {
 public:
  Machine() {
    tree.file("etc/licence");
    tree.link("dev/port", "/dev/null");
    tree.link("dev/same", "/dev/null");
  }

  // `more` of an entry x.com/a, whose one device is /etc/licence.
  Texts remarks(const std::string& more) const {
    return of("- {name: x.com/a, directory: {path: /etc, match: licence}, " + more + "}\n");
  }
  Texts of(const std::string& entry) const {
    tree.file("config.yaml", "resources:\n" + entry);
    const HostRoot host(tree.path());
    return mount_remarks(host, survey(load_config(tree.at("config.yaml")), host).offers);
  }

  test::TempDir tree;
};

const std::string kNoRight =
    ": a mount gives a container no right to open it; give the node, by `nodes`, or by a path without "
    "`type: Mount`";

}  // namespace

TEST_CASE("a device node that is mounted cannot be opened, unless it is given, too") {
  const Machine machine;
  CHECK(machine.remarks("mounts: [{hostPath: /dev/port}]") ==
        Texts{"x.com/a: /dev/port is a device node" + kNoRight});
  CHECK(machine.remarks("cdi: true, mounts: [{hostPath: /dev/port}]").size() == 1);
  CHECK(machine.remarks("mounts: [{hostPath: /dev/port}], nodes: [{hostPath: /dev/port}]").empty());
  CHECK(machine.remarks("mounts: [{hostPath: /dev/port}], nodes: [{hostPath: /dev/same}]").empty());
  CHECK(machine.of("- {name: x.com/b, groups: [{paths: [{path: \"/dev/p*\", type: Mount}]}]}\n") ==
        Texts{"x.com/b: /dev/port is a device node" + kNoRight});
}

TEST_CASE("a directory with device nodes is as each of them") {
  const Machine machine;
  CHECK(machine.remarks("mounts: [{hostPath: /dev}]").empty());  // a link; it may be for the names alone
  // The test's machine cannot have nodes, and this one has.
  const test::TempDir config;
  config.file(
      "config.yaml",
      "resources: [{name: x.com/a, count: 2, mounts: [{hostPath: /dev, containerPath: /hostdev}]}]\n");
  const HostRoot host;
  const Texts remarks = mount_remarks(host, survey(load_config(config.at("config.yaml")), host).offers);
  REQUIRE(remarks.size() == 1);  // for both devices
  CHECK(remarks[0].starts_with("x.com/a: /dev has device nodes, such as /dev/"));
  CHECK(remarks[0].ends_with(kNoRight));
}

TEST_CASE("a socket that is mounted is the old one when its server has started anew") {
  const Machine machine;
  const test::TempDir server;
  const UniqueFd listener = listen_unix(server.at("server.sock"));
  machine.tree.link("run/server.sock", server.at("server.sock"));
  CHECK(machine.remarks("mounts: [{hostPath: /run/server.sock}]") ==
        Texts{"x.com/a: /run/server.sock is a socket: when its server starts anew, a running container still "
              "has the old one; mount the directory that it is in"});
  CHECK(machine.remarks("mounts: [{hostPath: /run}]").empty());
}

TEST_CASE("of files and directories, and of what is not there, nothing is said") {
  const Machine machine;
  CHECK(machine.remarks("mounts: [{hostPath: /etc}, {hostPath: /etc/licence}, {hostPath: /none}]").empty());
}
