#include "tools/doctor/doctor.hpp"

#include "base/system/unix_socket.hpp"
#include "host/services/process.hpp"
#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using State = SocketOwner::State;

TEST_CASE("the listener of a socket is found, or that there is none") {
  MadeNode node;
  node.files.file("config.yaml", "resources: [{name: example.com/x, count: 1}]\n");
  node.tree.directory(kPlugins);
  const UniqueFd kubelet = listen_unix(node.tree.at(kKubeletSocket));
  const std::string stale = std::string(kPlugins) + "/stale.sock";
  { const UniqueFd gone = listen_unix(node.tree.at(stale)); }
  node.tree.file(std::string(kPlugins) + "/kubelet_internal_checkpoint");
  const Observed observed = observe(node.host, node.files.at("config.yaml"));
  CHECK(observed.sockets ==
        std::map<std::string, SocketOwner>{{kKubeletSocket, {State::kListens, ::getpid()}},
                                           {stale, {State::kNobody, 0}}});
  CHECK(observed.config);
  CHECK(observed.devices.snapshots.size() == 1);
  CHECK(observed.descriptors > 0);
}

TEST_CASE("the connections to a socket are counted by its name, in its listener's network namespace") {
  MadeNode node;
  node.tree.directory(kPlugins);
  const UniqueFd kubelet = listen_unix(node.tree.at(kKubeletSocket));
  const auto connections = [&] {
    return observe(node.host, "/nonexistent").sockets.at(kKubeletSocket).connections;
  };
  CHECK(connections() == std::nullopt);
  node.tree.file("proc/" + std::to_string(::getpid()) + "/net/unix",
                 "Num       RefCount Protocol Flags    Type St Inode Path\n"
                 "00000000bde46b66: 00000002 00000000 00010000 0001 01 10 /device-plugins/kubelet.sock\n"
                 "00000000bde46b67: 00000003 00000000 00000000 0001 03 11 /device-plugins/kubelet.sock\n"
                 "00000000bde46b68: 00000003 00000000 00000000 0001 03 12 /device-plugins/other.sock\n"
                 "00000000bde46b69: 00000003 00000000 00000000 0001 03 13\n"
                 "00000000bde46b6a: 00000003 00000000 00000000 0001 03 14 /x/kubelet.sock\n");
  CHECK(connections() == 2);
}

TEST_CASE("the version is read by running the kubelet's program, and a different program is not run") {
  MadeNode node;
  node.tree.directory(kPlugins);
  const UniqueFd kubelet = listen_unix(node.tree.at(kKubeletSocket));
  // This test's own program stands for the kubelet; it also prints a version.
  node.process(::getpid(), "/usr/bin/kubelet");
  CHECK(contains(observe(node.host, "/nonexistent").kubelet_version, "doctest version is"));
  node.process(::getpid(), "/usr/bin/other");
  CHECK(observe(node.host, "/nonexistent").kubelet_version.empty());
}

TEST_CASE("a device node is reported with its number, even if its path is a link") {
  MadeNode node;
  node.tree.link("dev/zero", "/dev/null");
  node.files.file("config.yaml",
                  "resources: [{name: example.com/x, groups: [{paths: [{path: /dev/zero}]}]}]\n");
  const Observed observed = observe(node.host, node.files.at("config.yaml"));
  CHECK(observed.links == std::map<std::string, std::string>{{"/dev/zero", "/dev/char/1:3"}});
}

TEST_CASE("a device node's permissions are reported, unless all users may open it or the entry uses CDI") {
  MadeNode node;
  node.tree.link("dev/open", "/dev/null");
  node.tree.file("srv/closed");  // a regular file in place of a device node
  std::filesystem::permissions(node.tree.at("srv/closed"), std::filesystem::perms(0640));
  const auto closed = [&](const std::string& more) {
    node.files.file("config.yaml",
                    "resources: [{name: example.com/x, exec: {discover: [/bin/echo, "
                    "'{\"devices\": [{\"id\": \"a\", \"nodes\": [\"/dev/open\", "
                    "\"/srv/closed\", \"/srv/none\"]}]}']}" +
                        more + "}]\n");
    return observe(node.host, node.files.at("config.yaml")).closed_nodes;
  };
  const auto seen = closed("");
  REQUIRE(seen.size() == 1);
  CHECK(seen.at("/srv/closed") == "640 " + std::to_string(::geteuid()) + ':' + std::to_string(::getegid()));
  CHECK(closed(", cdi: true, access: group").empty());
  CHECK(closed(", cdi: true").empty());
}

TEST_CASE("a missing configuration is reported as an error") {
  const MadeNode node;
  const Observed observed = observe(node.host, node.files.at("none.yaml"));
  CHECK_FALSE(observed.config);
  REQUIRE(observed.errors.size() == 1);
  CHECK(contains(observed.errors[0].text(), "No such file"));
}
