// Network interfaces that containers get: what becomes of their devices while they are in another network
// namespace, and after it. The kernel's own interfaces and namespaces. Needs root.

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "hotplug/namespaces.hpp"
#include "integration/node.hpp"
#include "not_shown.hpp"
#include "unit/apiserver/fake_objects.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kDriver = "plughost.example.com";
const std::string kUplink = "example.com/uplink";
const std::string kPool = std::string(FakeObjects::kNode) + '/' + kUplink;
const std::string kClaims = std::string(FakeObjects::kClaimsOf) + "default/resourceclaims";
const ClaimRef kClaim{.uid = "uid-one", .name_space = "default", .name = "one"};

// Says whether the command succeeded.
bool run(const std::string& command) {
  return std::system(command.c_str()) == 0;
}

// Before any thread is there.
void enter_machine() {
  enter_real_machine();
  REQUIRE(run("ip link set lo up"));
  if (!run("ip link add plug0 address 02:00:00:00:00:07 type veth peer name peer0"))
    not_shown("the kernel makes no veth");
  REQUIRE(run("ip netns add pod"));
}

// What a container runtime does with an interface, and the kernel with one of hardware when the namespace
// ends.
bool move_into_pod(const std::string& name = "plug0") {
  return run("ip link set plug0 netns pod name " + name);
}
bool move_back(const std::string& name = "plug0") {
  return run("ip -n pod link set " + name + " netns " + std::to_string(::getpid()));
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// A node with one interface, which plughost offers in a pool or to the kubelet.
struct Rig {
  FakeObjects objects;
  Node node{{.pod_resources = true, .drivers = true}};

  explicit Rig(const std::string& way) {
    node.set_top("apiServer: {kubeconfig: " + objects.kubeconfig(node.files()) +
                 ", node: " + FakeObjects::kNode + "}\ncdi: {directory: " + node.path("cdi") + "}\n");
    configure(way);
    node.start_kubelet();
    start();
  }
  void configure(const std::string& way) {
    node.configure(
        "- name: " + kUplink +
        "\n  udev: {subsystem: net, name: \"plug*\"}\n  id: \"mac-{mac}\"\n  cdi: true\n  advertise: " + way +
        "\n  netDevices: [{hostInterfaceName: \"{name}\"}]\n" + counted("example.com/token", 1));
  }
  void reload(const std::string& way) {
    configure(way);
    node.daemon().signal(SIGHUP);
    REQUIRE(said("configuration reloaded"));
  }
  void start() {
    const auto before = node.of("example.com/token").registrations.size();
    node.start_daemon();
    REQUIRE(node.wait_for([&](const KubeletState& state) {
      const ResourceState& token = state.of("example.com/token");
      return token.registrations.size() > before && token.attached && token.lists_since_registration > 0;
    }));
  }
  void kill_daemon() {
    node.daemon().signal(SIGKILL);
    REQUIRE(node.daemon().wait_for_exit(kLong));
  }

  // "mac-02-00-00-00-00-07 eth1!gone": the pool's devices, with their interfaces and taints.
  std::string pool() const {
    std::string text;
    for (const Json& slice : objects.all(FakeObjects::kSlices)) {
      if (slice["spec"]["pool"]["name"].text() != kPool) continue;
      for (const Json& device : slice["spec"]["devices"].array()) {
        text += (text.empty() ? "" : " ") + device["attributes"]["name"]["string"].text();
        for (const Json& taint : device["taints"].array()) text += '!' + taint["value"].text();
      }
    }
    return text;
  }
  bool published(const std::string& devices) const {
    const bool shown = eventually([&] { return pool() == devices; });
    CHECK_MESSAGE(shown, "the pool has '", pool(), "' instead of '", devices, "'");
    return shown;
  }
  std::string label() const {
    for (const Json& slice : objects.all(FakeObjects::kSlices)) {
      if (slice["spec"]["pool"]["name"].text() == kPool)
        return slice["spec"]["devices"].array().at(0)["name"].text();
    }
    return {};
  }
  std::size_t writes() const { return objects.written("POST") + objects.written("PUT"); }

  void allocate() {
    const Json results =
        Json::Array{Json{{"request", "net"}, {"driver", kDriver}, {"pool", kPool}, {"device", label()}}};
    objects.put(
        kClaims,
        Json{{"apiVersion", "resource.k8s.io/v1"},
             {"kind", "ResourceClaim"},
             {"metadata", Json{{"namespace", "default"}, {"name", "one"}, {"uid", "uid-one"}}},
             {"status",
              Json{{"allocation", Json{{"devices", Json{{"results", results}}}}},
                   {"reservedFor",
                    Json::Array{Json{{"resource", "pods"}, {"name", "pod"}, {"uid", "uid-of-pod"}}}}}}});
  }
  bool registered() const {
    return node.wait_for(
        [](const KubeletState& state) {
          const auto& endpoints = state.driver(kDriver).endpoints;
          return !endpoints.empty() && endpoints.back().connected;
        },
        kLong);
  }
  // What the container runtime is told; empty: the claim was refused.
  std::string prepare() {
    REQUIRE(registered());
    const ClaimsAnswer answer = node.kubelet().prepare(kDriver, {kClaim});
    const auto outcome = answer.outcomes.find("uid-one");
    if (outcome == answer.outcomes.end() ||
        !std::holds_alternative<std::vector<PreparedDevice>>(outcome->second))
      return {};
    return std::get<std::vector<PreparedDevice>>(outcome->second).at(0).cdi.at(0);
  }
  void unprepare() {
    REQUIRE(registered());
    CHECK(node.kubelet().unprepare(kDriver, {kClaim}).error.empty());
  }
  std::string health() const {
    const KubeletState state = node.kubelet_state();
    const auto& all = state.driver(kDriver).health;
    if (all.empty() || !all.begin()->second.known) return "?";
    return all.begin()->second.healthy ? "Healthy" : "Unhealthy: " + all.begin()->second.message;
  }
  std::string specification() const {
    for (const auto& entry : std::filesystem::directory_iterator(node.files().at("cdi"))) {
      if (entry.path().filename().string().ends_with("-example.com_uplink.json"))
        return text_of(entry.path());
    }
    return {};
  }
  // What people are told of its devices; what programs are must say the same.
  std::string status() const {
    const Finished json = run_plughost({"status", kUplink, "-o", "json", "--control", node.control()});
    const Finished text = run_plughost({"status", kUplink, "--control", node.control()});
    const bool away = json.output.find("\"away\": true") != std::string::npos;
    if (json.exit_code != 0 || text.exit_code != 0 ||
        away != (text.output.find("; its network interface is away") != std::string::npos))
      return "not one word: " + json.output + text.output;
    return text.output;
  }
  bool told(const std::string& part, bool there = true) const {
    std::string last;
    const bool shown =
        eventually([&] { return ((last = status()).find(part) != std::string::npos) == there; });
    CHECK_MESSAGE(shown, "'", part, "' is", (there ? " not" : ""), " in ", last);
    return shown;
  }
  // So often the log has the line.
  bool said(const std::string& line, std::size_t times = 1) {
    return eventually([&] {
      const std::string log = node.daemon().output();
      std::size_t count = 0;
      for (std::size_t at = log.find(line); at != std::string::npos; at = log.find(line, at + 1)) ++count;
      return count >= times;
    });
  }
};

constexpr const char* kLeft = "network interfaces have left the host";
constexpr const char* kBack = "network interfaces are back on the host";

}  // namespace

TEST_CASE("net: an interface that a claim's container has is in its slice as it was, until it is back") {
  enter_machine();
  Rig rig("dra");
  REQUIRE(rig.published("plug0"));
  rig.allocate();
  CHECK(rig.prepare() == kUplink + "=mac-02:00:00:00:00:07");
  CHECK(eventually([&] { return rig.health() == "Healthy"; }));
  const std::string specification = rig.specification();
  CHECK(specification.find("\"cdiVersion\": \"1.1.0\"") != std::string::npos);
  CHECK(specification.find("\"hostInterfaceName\": \"plug0\"") != std::string::npos);
  const std::size_t writes = rig.writes();
  CHECK(rig.told("is away", false));

  REQUIRE(move_into_pod("net1"));
  CHECK(rig.said(kLeft));
  CHECK(rig.told("mac-02:00:00:00:00:07  Healthy; its network interface is away"));
  CHECK(rig.pool() == "plug0");
  CHECK(rig.health() == "Healthy");
  CHECK(rig.specification() == specification);
  REQUIRE(move_back("net1 name plug0"));
  CHECK(rig.said(kBack));
  CHECK(rig.told("is away", false));
  CHECK(rig.pool() == "plug0");
  CHECK(rig.writes() == writes);
  CHECK(rig.specification() == specification);
  CHECK_FALSE(rig.node.daemon().output().find("devices are gone") != std::string::npos);
}

TEST_CASE("net: an interface that is back under another name is the same device, and moves by that name") {
  enter_machine();
  Rig rig("dra");
  REQUIRE(rig.published("plug0"));
  rig.allocate();
  REQUIRE_FALSE(rig.prepare().empty());
  REQUIRE(move_into_pod("plug9"));
  REQUIRE(rig.said(kLeft));
  rig.unprepare();
  REQUIRE(move_back("plug9"));
  CHECK(rig.published("plug9"));
  CHECK(eventually(
      [&] { return rig.specification().find("\"hostInterfaceName\": \"plug9\"") != std::string::npos; }));
}

TEST_CASE(
    "net: an interface that does not come back when its claim ends is gone, and whoever asks waits for it") {
  enter_machine();
  Rig rig("dra");
  REQUIRE(rig.published("plug0"));
  rig.allocate();
  REQUIRE_FALSE(rig.prepare().empty());
  REQUIRE(move_into_pod());
  REQUIRE(rig.said(kLeft));
  rig.unprepare();
  CHECK(rig.published(""));
  REQUIRE(move_back());
  CHECK(rig.published("plug0"));
  CHECK_FALSE(rig.prepare().empty());
}

TEST_CASE("net: a plughost that starts while an interface is away knows it from what was written") {
  enter_machine();
  Rig rig("dra");
  REQUIRE(rig.published("plug0"));
  rig.allocate();
  REQUIRE_FALSE(rig.prepare().empty());
  const std::size_t writes = rig.writes();
  const std::string specification = rig.specification();
  REQUIRE(move_into_pod());
  REQUIRE(rig.said(kLeft));
  rig.kill_daemon();
  rig.start();
  CHECK(rig.prepare() == kUplink + "=mac-02:00:00:00:00:07");
  CHECK(eventually([&] { return rig.health() == "Healthy"; }));
  // Another interface is published, and with it whatever else is to be said.
  REQUIRE(run("ip link add plug1 type veth peer name peer1"));
  CHECK(eventually([&] { return rig.pool().find("plug1") != std::string::npos; }));
  CHECK(rig.pool().find("plug0") != std::string::npos);
  CHECK(rig.pool().find('!') == std::string::npos);
  CHECK(rig.writes() == writes + 1);
  CHECK(rig.specification().find("\"hostInterfaceName\": \"plug0\"") != std::string::npos);
  rig.unprepare();
  REQUIRE(move_back());
  CHECK(rig.said(kBack));
}

TEST_CASE("net: an interface that a pod has by the kubelet is listed as it was, also by the next plughost") {
  enter_machine();
  Rig rig("plugin");
  const std::string id = "mac-02:00:00:00:00:07";
  REQUIRE(rig.node.attached({kUplink}));
  REQUIRE(rig.node.healthy(kUplink, id));
  REQUIRE(rig.node.kubelet().allocate_named("pod", "main", kUplink, {id}).error.empty());
  REQUIRE(move_into_pod());
  CHECK(rig.said(kLeft));
  // It has been asked about, and its list was made anew.
  REQUIRE(run("ip link add plug1 type veth peer name peer1"));
  CHECK(rig.node.count(kUplink, 2));
  CHECK(rig.node.healthy(kUplink, id));
  CHECK(rig.node.kubelet().allocate_ids(kUplink, {id}).text.find("not back on the host yet") !=
        std::string::npos);
  rig.kill_daemon();
  rig.start();
  CHECK(rig.node.attached({kUplink}));
  CHECK(rig.node.count(kUplink, 2));
  CHECK(rig.node.healthy(kUplink, id));
  REQUIRE(rig.node.kubelet().free("pod"));
  // The kubelet is asked again and again, with longer pauses.
  CHECK(rig.node.unhealthy(kUplink, id, 2 * kLong));
  REQUIRE(move_back());
  CHECK(rig.node.healthy(kUplink, id));
}

TEST_CASE("net: an interface that a pod has by the kubelet stays its own when the entry moves to a pool") {
  enter_machine();
  Rig rig("plugin");
  const std::string id = "mac-02:00:00:00:00:07";
  REQUIRE(rig.node.attached({kUplink}));
  REQUIRE(rig.node.healthy(kUplink, id));
  REQUIRE(rig.node.kubelet().allocate_named("pod", "main", kUplink, {id}).error.empty());
  REQUIRE(move_into_pod());
  REQUIRE(rig.said(kLeft));
  rig.reload("dra");
  // It is known, and nobody gets it; another one is offered.
  REQUIRE(run("ip link add plug1 address 02:00:00:00:00:09 type veth peer name peer1"));
  CHECK(rig.published("plug0!held plug1"));
  CHECK(rig.told("its network interface is away"));
  REQUIRE(rig.node.kubelet().free("pod"));
  REQUIRE(move_back());
  CHECK(rig.said(kBack));
  CHECK(rig.published("plug0 plug1"));
  CHECK(rig.told("is away", false));
}

TEST_CASE("net: an interface that nobody holds is gone when it leaves the host") {
  enter_machine();
  Rig rig("plugin");
  REQUIRE(rig.node.attached({kUplink}));
  REQUIRE(rig.node.healthy(kUplink, "mac-02:00:00:00:00:07"));
  REQUIRE(move_into_pod());
  CHECK(rig.node.unhealthy(kUplink, "mac-02:00:00:00:00:07"));
}
