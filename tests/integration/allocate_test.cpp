// Checks that an entry's allocate program adds to what a container gets.

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// Starts a node with an allocate program, which runs the script `answer` in the test's directory and writes
// its request to the file `request`.
void start_with_program(Node& node, const std::string& answer, const std::string& more = {}) {
  for (const char* name : {"sda", "sdb"}) node.files().file(std::string("disks/") + name);
  node.files().file("answer", answer);
  node.files().file("program", "cd \"$1\"; cat > request; . ./answer\n");
  node.configure(test::listed(kDisk, node.path("disks"),
                              "allocate: {exec: [/bin/sh, " + node.path("program") + ", " +
                                  node.files().path().string() + "]}" + more) +
                 counted(kOther, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk, kOther}));
}

}  // namespace

TEST_CASE(
    "a container gets what the configuration and the program define, and simulate prints the same settings") {
  Node node;
  start_with_program(node,
                     R"(cat <<'J'
{"nodes": ["/dev/null", {"hostPath": "/dev/zero", "containerPath": "/dev/licence{n}", "permissions": "r"}],
 "mounts": [{"hostPath": "/srv", "containerPath": "/data", "readOnly": true}],
 "env": {"TOKEN": "t"}, "annotations": {"example.com/a": "b"}, "cdi": ["example.com/disk=sda"]}
J
)",
                     ", env: {DISK: \"{id}\"}");
  const AllocateAnswer answer = node.kubelet().allocate_ids(kDisk, {"sda"});
  REQUIRE(answer.containers.size() == 1);
  const auto& container = answer.containers[0];
  CHECK(container.env == std::map<std::string, std::string>{{"DISK", "sda"}, {"TOKEN", "t"}});
  CHECK(container.annotations == std::map<std::string, std::string>{{"example.com/a", "b"}});
  CHECK(container.cdi == std::vector<std::string>{"example.com/disk=sda"});
  REQUIRE(container.nodes.size() == 2);
  CHECK(container.nodes[1] == ContainerNode{"/dev/zero", "/dev/licence{n}", "r"});
  CHECK(container.mounts.back() == ContainerMount{"/srv", "/data", true});
  CHECK(std::filesystem::exists(node.files().at("request")));
  const Finished simulated = run_plughost({"simulate", "--config", node.configuration(), kDisk + "=sda"});
  CHECK(simulated.exit_code == 0);
  for (const char* part : {"TOKEN", "/dev/licence{n}", "example.com/disk=sda", "/data"})
    CHECK(has(simulated.output, part));
}

TEST_CASE("a failing allocate program refuses the allocation with its reason, which is also logged") {
  Node node;
  std::string answer;
  std::string words;
  SUBCASE("the program fails") {
    answer = "echo no licence left >&2; exit 3";
    words = "allocate: the program exited with 3: no licence left";
  }
  SUBCASE("the program prints half a document") {
    answer = R"(printf '{"env": {"A": "b"')";
    words = "allocate: what the program printed cannot be used: the document: it is not JSON";
  }
  SUBCASE("the program prints without end") {
    answer = "exec yes";
    words = "allocate: the program was killed: it printed more than 4 MiB";
  }
  SUBCASE("the program does not end") {
    answer = "exec sleep 1000";
    words = "allocate: the program was killed: it gave no answer within 2 s";
  }
  SUBCASE("the program names a device node that does not exist") {
    answer = R"(echo '{"nodes": ["/dev/no-such-licence"]}')";
    words = "/dev/no-such-licence";
  }
  SUBCASE("the program contradicts the configuration") {
    answer = R"(echo '{"env": {"DISK": "mine"}}')";
    words =
        "the environment variable DISK would be both \"sda\" and \"mine\"; the program of allocate "
        "contradicts";
  }
  SUBCASE("the program prints more than the kubelet accepts") {
    // The output is within the program's own limit, but exceeds the kubelet's limit with the rest of the
    // message.
    answer = R"(printf '{"env": {"A": "'; head -c 4194200 /dev/zero | tr '\0' a; printf '"}}')";
    words = "bytes, and the kubelet takes 4 MiB";
  }
  start_with_program(node, answer + '\n', ", env: {DISK: \"{id}\"}");
  const AllocateAnswer refused = node.kubelet().allocate_ids(kDisk, {"sda"});
  CAPTURE(refused.text);
  CHECK(has(refused.text, words));
  CHECK(has(refused.text, kDisk));
  CHECK(node.daemon().wait_for_line({"warn", "Allocate refused", kDisk, "ids=sda", "why="}, kLong));
  CHECK(node.daemon().comes_to_lines("Allocate refused", 1));
  CHECK(node.kubelet().allocate("pod", "main", kOther, 1).admitted());
  CHECK(node.daemon().running());
}

TEST_CASE("the programs of an entry run as the users that it names") {
  if (::geteuid() != 0) return;  // needs root
  Node node;
  node.files().file("disks/sda");
  std::filesystem::permissions(node.files().path(), std::filesystem::perms::all);
  const std::string script = "id -un > " + node.path("user-") + "$0; echo {{}}";
  const auto as = [&](const std::string& key, const std::string& user) {
    return key + ": {exec: [/bin/sh, -c, '" + script + "', " + key + "], user: " + user + "}";
  };
  node.configure(test::listed(kDisk, node.path("disks"),
                              as("allocate", "daemon") + ", " + as("preStart", "bin") + ", " +
                                  as("health", "games") + ", " + as("onRemove", "man")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kDisk}));
  REQUIRE(node.kubelet().allocate("pod", "main", kDisk, 1).admitted());
  CHECK(node.kubelet().start_container("pod") == "");
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
  for (const auto& [key, user] : std::map<std::string, std::string>{
           {"allocate", "daemon"}, {"preStart", "bin"}, {"health", "games"}, {"onRemove", "man"}}) {
    std::string name;
    std::ifstream(node.files().at("user-" + key)) >> name;
    CHECK(name == user);
  }
}

TEST_CASE("a slow allocate program delays no other resource, and fails when plughost stops") {
  Node node;
  start_with_program(node, "echo $$ > pid; exec sleep 1000\n");
  auto text =
      std::async(std::launch::async, [&node] { return node.kubelet().allocate_ids(kDisk, {"sda"}).text; });
  pid_t pid = 0;
  REQUIRE(eventually([&] {
    std::ifstream file(node.files().at("pid"));
    return static_cast<bool>(file >> pid);
  }));
  node.files().file("disks/sdc");
  CHECK(node.healthy(kDisk, "sdc"));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(text.get() != "");
  CHECK(::kill(pid, 0) != 0);
}
