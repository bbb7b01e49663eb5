// Checks that CDI specifications are written before their names are published, and kept while the names are
// in use.

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "model/device/names.hpp"
#include "unit/leased_program.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// Returns an entry for which each file in the node's directory `dev` is a device, and a device node of its
// container.
std::string camera_ports(const Node& node, const std::string& name = kPort,
                         const std::string& more = "cdi: true") {
  return "- {name: \"" + name + "\", directory: {path: " + node.path("dev") +
         "}, nodes: [{hostPath: \"{path}\", containerPath: \"/dev/{id}\"}], forgetAfter: 1s, " + more + "}\n";
}

// Returns the name of the resource's file below `cdi`. The name includes the kubelet's directory, which is
// not the usual one.
std::string file_of(const Node& node, const std::string& name) {
  std::array<char, 17> directory{};
  std::snprintf(directory.data(), directory.size(), "%016" PRIx64, fnv1a(node.plugins().native()));
  return std::string("plughost.") + directory.data() + "-example.com_" + name + ".json";
}

void configure(Node& node, const std::string& resources, const std::string& directory = "cdi") {
  node.configure(resources + "cdi: {directory: " + node.path(directory) + "}\n");
}

std::filesystem::path at(const Node& node, const std::string& below) { return node.files().at(below); }

// Returns the host's path of the first device's first node; empty while the specification cannot be read.
std::string host_path(const std::filesystem::path& specification) {
  const auto json = nlohmann::json::parse(content(specification), nullptr, false);
  return json.is_discarded() ? ""
                             : json["devices"][0]["containerEdits"]["deviceNodes"][0].value("hostPath", "");
}

bool comes(const std::filesystem::path& file) {
  return eventually([&] { return std::filesystem::exists(file); });
}

bool goes(const std::filesystem::path& file) {
  return eventually([&] { return !std::filesystem::exists(file); });
}

}  // namespace

TEST_CASE("CDI specifications, which containers need for a restart, are written before a slow stop ends") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  configure(node, camera_ports(node, kPort, "cdi: true, onRemove: {exec: [/bin/sleep, \"2\"]}"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "ttyA"));
  node.daemon().signal(SIGTERM);  // the work that follows a burst of new lists is a second away
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
  CHECK(std::filesystem::exists(at(node, "cdi/" + file_of(node, "port"))));
}

TEST_CASE(
    "a specification is written before the kubelet receives its device, and Allocate returns the name") {
  std::atomic<unsigned> lists = 0;
  std::atomic<unsigned> early = 0;
  Node node;  // declared last: its kubelet calls the observer until it is destroyed
  node.files().link("dev/ttyA", "/dev/null");
  configure(node, camera_ports(node));
  node.start_kubelet({}, [&](const KubeletEvent& event) {
    if (event.type != KubeletEvent::Type::kList) return;
    const std::string text = content(at(node, "cdi/" + file_of(node, "port")));
    if (text.find(event.devices == 1 ? "ttyA" : "ttyB") == std::string::npos) ++early;
    ++lists;
  });
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "ttyA"));
  node.files().link("dev/ttyB", "/dev/null");
  REQUIRE(node.healthy(kPort, "ttyB"));
  CHECK(eventually([&] { return lists >= 2; }));
  CHECK(early == 0);

  const auto answer = node.kubelet().allocate_ids(kPort, {"ttyB"});
  REQUIRE(answer.containers.size() == 1);
  CHECK(answer.containers[0].nodes.empty());
  CHECK(answer.containers[0].cdi == std::vector<std::string>{"example.com/port=ttyB"});
  const std::string text = content(at(node, "cdi/" + file_of(node, "port")));
  const auto json = nlohmann::json::parse(text);
  CHECK(json["kind"] == kPort);
  REQUIRE(json["devices"].size() == 2);
  const nlohmann::json& given = json["devices"][1]["containerEdits"]["deviceNodes"][0];
  CHECK(given["path"] == "/dev/ttyB");
  CHECK(given["hostPath"] == "/dev/null");
}

TEST_CASE(
    "a specification has the target of a link as node, and is replaced before a list when the target "
    "changes") {
  std::atomic<unsigned> late_lists = 0;
  std::atomic<unsigned> early = 0;
  Node node;  // declared last: its kubelet calls the observer until it is destroyed
  node.files().link("dev/modem", "/dev/null");
  configure(node, camera_ports(node));
  const auto specification = at(node, "cdi/" + file_of(node, "port"));
  node.start_kubelet({}, [&early, &late_lists, specification](const KubeletEvent& event) {
    if (event.type != KubeletEvent::Type::kList || event.devices != 2) return;
    if (host_path(specification) != "/dev/zero") ++early;
    ++late_lists;
  });
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "modem"));
  CHECK(host_path(specification) == "/dev/null");
  // A second device appears at the same time, so that a list is sent, which could precede the specification.
  node.files().link("next", "/dev/zero");
  std::filesystem::rename(at(node, "next"), at(node, "dev/modem"));
  node.files().link("dev/zother", "/dev/null");
  REQUIRE(node.healthy(kPort, "zother"));
  CHECK(host_path(specification) == "/dev/zero");
  CHECK(eventually([&] { return late_lists > 0; }));  // the observer runs after the list has been counted
  CHECK(early == 0);
}

TEST_CASE("a specification survives a restart of the daemon, and is removed with its entry") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  node.files().file("cdi/" + file_of(node, "former"));
  node.files().file("cdi/vendor.json");
  configure(node, camera_ports(node) + counted("example.com/token", 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "ttyA"));
  CHECK(goes(at(node, "cdi/" + file_of(node, "former"))));
  node.daemon().signal(SIGTERM);
  REQUIRE(node.daemon().wait_for_exit(kLong).has_value());
  CHECK(std::filesystem::exists(at(node, "cdi/" + file_of(node, "port"))));

  node.start_daemon();
  REQUIRE(node.attached({kPort}));
  CHECK(std::filesystem::exists(at(node, "cdi/" + file_of(node, "port"))));
  configure(node, counted("example.com/token", 1));
  REQUIRE(node.reload());
  CHECK(goes(at(node, "cdi/" + file_of(node, "port"))));
  CHECK(std::filesystem::exists(at(node, "cdi/vendor.json")));
}

TEST_CASE("an entry that drops `cdi` loses its specification, and the response has the entry's nodes again") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  configure(node, camera_ports(node));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "ttyA"));
  configure(node, camera_ports(node, kPort, "cdi: false"));
  REQUIRE(node.reload());
  CHECK(goes(at(node, "cdi/" + file_of(node, "port"))));
  const auto answer = node.kubelet().allocate_ids(kPort, {"ttyA"});
  CHECK(answer.containers.at(0).nodes.size() == 1);
  CHECK(answer.containers.at(0).cdi.empty());
}

TEST_CASE("a resource that is named after its device loses its specification when the resource is removed") {
  Node node;
  for (const char* device : {"dev/ttyA", "dev/ttyB"}) node.files().file(device);
  configure(node, camera_ports(node, "example.com/{name}"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/ttyA", "example.com/ttyB"}));
  const auto first = at(node, "cdi/" + file_of(node, "ttyA"));
  const auto other = at(node, "cdi/" + file_of(node, "ttyB"));
  CHECK(comes(first));
  CHECK(comes(other));
  node.files().remove("dev/ttyA");
  CHECK(goes(first));
  CHECK(std::filesystem::exists(other));
}

TEST_CASE("specifications move when the directory changes") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  configure(node, camera_ports(node));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "ttyA"));
  configure(node, camera_ports(node), "elsewhere");
  REQUIRE(node.reload());
  CHECK(comes(at(node, "elsewhere/" + file_of(node, "port"))));
  CHECK(goes(at(node, "cdi/" + file_of(node, "port"))));
}

TEST_CASE("a specification that cannot be written is an error, and Allocate is refused until it is written") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  node.files().file("cdi", "a file in the directory's place");
  configure(node, camera_ports(node));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.healthy(kPort, "ttyA"));
  CHECK(node.daemon().wait_for_line(
      {"cannot write the CDI specification: Allocate is refused", kPort, "cannot be written"}, kLong));
  const auto refused = node.kubelet().allocate_ids(kPort, {"ttyA"});
  CHECK(refused.code != 0);
  CHECK(refused.text.find("cannot be written") != std::string::npos);
  node.files().remove("cdi");
  CHECK(node.daemon().wait_for_line({"CDI specification written", kPort}, kLong));
  CHECK(eventually([&] { return node.kubelet().allocate_ids(kPort, {"ttyA"}).code == 0; }));
  CHECK(node.daemon().comes_to_lines("cannot write the CDI specification: Allocate is refused", 1));
}

TEST_CASE("a stalled directory of CDI specifications affects no other entry") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  node.files().directory("cdi");
  node.files().directory("gophers");
  test::LeasedProgram hung(at(node, "cdi/" + file_of(node, "port")));
  configure(node, camera_ports(node) + listed("example.com/gopher", node.path("gophers")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/gopher"}));
  node.files().file("gophers/one");
  CHECK(node.healthy("example.com/gopher", "one", limit(1s)));
  CHECK(node.daemon().wait_for_line(
      {"cannot write the CDI specification: Allocate is refused", kPort, "its file system hangs"}, kLong));
  REQUIRE(node.healthy(kPort, "ttyA"));
  const auto refused = node.kubelet().allocate_ids(kPort, {"ttyA"});
  CHECK(refused.code != 0);
  CHECK(refused.text.find("its file system hangs") != std::string::npos);
  hung.give_back();
  CHECK(node.daemon().wait_for_line({"CDI specification written", kPort}, kLong));
  CHECK(eventually([&] { return node.kubelet().allocate_ids(kPort, {"ttyA"}).code == 0; }));
}

TEST_CASE("simulate and discover print the CDI names and edits, and write no specification") {
  Node node;
  node.files().link("dev/ttyA", "/dev/null");
  configure(node, camera_ports(node));
  const Finished simulated =
      run_plughost({"simulate", "--config", node.configuration(), "-o", "json", kPort + "=ttyA"});
  REQUIRE(simulated.exit_code == 0);
  const auto answer = nlohmann::json::parse(simulated.output)["answer"];
  CHECK(answer["cdi"] == nlohmann::json::array({"example.com/port=ttyA"}));
  CHECK(answer["byCdi"]["nodes"].size() == 1);
  CHECK_FALSE(answer.contains("nodes"));
  const Finished discovered = run_plughost({"discover", "--config", node.configuration(), "-o", "json"});
  CHECK(nlohmann::json::parse(discovered.output)[0]["devices"][0]["cdi"] == "example.com/port=ttyA");
  CHECK_FALSE(std::filesystem::exists(at(node, "cdi")));
}
