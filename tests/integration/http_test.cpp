// Checks the status page's server: what it serves, what it refuses, and that devices do not depend on it.

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/system/unix_socket.hpp"
#include "integration/http_client.hpp"
#include "integration/resource_names.hpp"
#include "places.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// A node with a status page and one attached resource, whose devices are files.
struct Listening {
  explicit Listening(const std::string& address = "127.0.0.1:0") {
    node.files().file("gophers/amy");
    configure(address);
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kGopher}));
    port = http_port(node);
  }
  void configure(const std::string& address) {
    node.set_top("listen: " + address + "\n");
    node.configure(listed(kGopher, node.path("gophers")));
  }

  Node node;
  unsigned port = 0;
};

// Returns each served metric as "name type".
std::set<std::string> names_of(const std::string& metrics) {
  std::set<std::string> names;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const std::size_t end = line.find(' ', 7);
    names.insert(line.substr(7, end - 7) + " " + line.substr(end + 1));
  }
  return names;
}

// Returns each metric of docs/metrics.md as "name type".
std::set<std::string> documented() {
  std::ifstream page(in_source("/docs/metrics.md"));
  std::set<std::string> names;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    const std::size_t type = line.find("| ", end) + 2;
    names.insert(line.substr(3, end - 3) + " " + line.substr(type, line.find(' ', type) - type));
  }
  return names;
}

bool reachable(unsigned port) {
  try {
    return http(port, "/").code != 0;
  } catch (const std::system_error&) {
    return false;
  }
}

double value_of(const std::string& metrics, const std::string& metric) {
  const std::size_t at = metrics.find("\n" + metric + " ");
  REQUIRE_MESSAGE(at != std::string::npos, metric);
  return std::stod(metrics.substr(at + metric.size() + 2));
}

}  // namespace

TEST_CASE("the served metrics are those of docs/metrics.md") {
  Node node;
  node.set_top("listen: 127.0.0.1:0\nmetrics: {devices: true}\napiServer: {}\n");
  node.configure(counted(kGopher, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  REQUIRE(node.kubelet().allocate_named("pod", "main", kGopher, {kGopher + "-0"}).admitted());
  // The first pod's checkpoint makes the holders known.
  const unsigned port = http_port(node);
  REQUIRE(eventually([&] { return http(port, "/metrics").body.find("devices_held") != std::string::npos; }));
  CHECK(names_of(http(port, "/metrics").body) == documented());
}

TEST_CASE("the metrics count allocations, devices, streams, kubelet restarts, reloads and log messages") {
  Listening listening;
  Node& node = listening.node;
  const auto metrics = [&] { return http(listening.port, "/metrics").body; };
  const std::string before = metrics();
  CHECK(value_of(before, "plughost_resource_attached{resource=\"" + kGopher + "\"}") == 1);
  CHECK(value_of(before, "plughost_devices{resource=\"" + kGopher + "\",health=\"healthy\"}") == 1);
  CHECK(value_of(before, "plughost_kubelet_restarts_total") == 0);
  CHECK(value_of(before, "plughost_recovery_duration_seconds_count") == 1);
  CHECK(value_of(before, "process_resident_memory_bytes") > 1e6);

  REQUIRE(node.kubelet().allocate_named("pod", "main", kGopher, {"amy"}).admitted());
  CHECK_FALSE(node.kubelet().allocate_ids(kGopher, {"nobody"}).text.empty());
  node.files().remove("gophers/amy");
  REQUIRE(node.unhealthy(kGopher, "amy"));
  node.kubelet().stop();
  node.kubelet().restart();
  REQUIRE(node.attached({kGopher}));
  REQUIRE(eventually([&] { return value_of(metrics(), "plughost_kubelet_restarts_total") == 1; }));
  const std::string after = metrics();
  CHECK(value_of(after, "plughost_allocations_total{resource=\"" + kGopher + "\",result=\"answered\"}") == 1);
  CHECK(value_of(after, "plughost_allocations_total{resource=\"" + kGopher + "\",result=\"refused\"}") == 1);
  CHECK(value_of(after, "plughost_allocation_duration_seconds_count") == 2);
  CHECK(value_of(after, "plughost_devices{resource=\"" + kGopher + "\",health=\"unhealthy\"}") == 1);
  CHECK(value_of(after, "plughost_streams_total{resource=\"" + kGopher + "\"}") == 2);
  CHECK(value_of(after, "plughost_config_reloads_total{result=\"refused\"}") == 0);

  node.configure("- {name: bad}\n");
  node.daemon().signal(SIGHUP);
  REQUIRE(node.daemon().wait_for_line({"configuration not reloaded"}, kLong));
  const std::string refused = metrics();
  CHECK(value_of(refused, "plughost_config_reloads_total{result=\"refused\"}") == 1);
  CHECK(value_of(refused, "plughost_config_last_reload_successful") == 0);
  CHECK(value_of(refused, "plughost_log_messages_total{level=\"error\"}") > 0);
}

TEST_CASE("without a port, the metrics are in a file, which has the pods and is removed at the end") {
  Node node{{.pod_resources = true}};
  node.files().directory("textfile");
  const auto file = node.files().at("textfile/plughost.prom");
  node.set_top("metrics: {devices: true, textfile: " + node.path("textfile") + "}\n");
  node.configure(counted(kGopher, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  const std::string device =
      "plughost_device_info{resource=\"" + kGopher + "\",device=\"" + kGopher + "-0\",";
  const auto says = [&](const std::string& line) {
    return eventually([&] {
      std::ifstream text(file);
      return std::string(std::istreambuf_iterator<char>(text), {}).find(line) != std::string::npos;
    });
  };
  CHECK(says(device + "node_path=\"\",namespace=\"\",pod=\"\",container=\"\"} 1\n"));
  REQUIRE(node.kubelet().allocate_named("pod-a", "main", kGopher, {kGopher + "-0"}).admitted());
  REQUIRE(node.reload());  // a change, so that the file is written early
  CHECK(says(device + "node_path=\"\",namespace=\"default\",pod=\"pod-a\",container=\"main\"} 1\n"));
  node.set_top("");
  node.configure(counted(kGopher, 1));
  REQUIRE(node.reload());
  CHECK(eventually([&] { return !std::filesystem::exists(file); }));

  node.set_top("metrics: {textfile: " + node.path("textfile") + "}\n");
  node.configure(counted(kGopher, 1));
  REQUIRE(node.reload());
  REQUIRE(says("plughost_resource_attached"));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("/healthz succeeds while the daemon responds, and /readyz when every resource is attached") {
  Listening listening;
  CHECK(http(listening.port, "/healthz").code == 200);
  CHECK(http(listening.port, "/readyz").code == 200);
  listening.node.kubelet().stop();
  REQUIRE(eventually([&] { return http(listening.port, "/readyz").code == 503; }));
  CHECK(http(listening.port, "/readyz").body == "not attached: " + kGopher + "\n");
  CHECK(http(listening.port, "/healthz").code == 200);
}

TEST_CASE("the served status is the one that plughost status prints as JSON") {
  const Listening listening;
  json served;
  json printed;
  // The kubelet's count may have arrived between the two requests.
  eventually([&] {
    served = json::parse(http(listening.port, "/status.json").body);
    printed =
        json::parse(run_plughost({"status", "-o", "json", "--control", listening.node.control()}).output);
    return served == printed;
  });
  CHECK(served == printed);
  const json events = json::parse(http(listening.port, "/events.json").body);
  REQUIRE(events.is_array());
  CHECK(events[0]["message"].get<std::string>().starts_with("plughost "));
}

TEST_CASE("a watching page receives the status, each change, and the end") {
  Listening listening;
  EventSource page(listening.port);
  REQUIRE(page.read_until("event: status"));
  REQUIRE(page.read_until("\"healthy\":1"));
  listening.node.files().file("gophers/bob");
  CHECK(page.read_until("bob"));
  listening.node.files().remove("gophers/amy");
  CHECK(page.read_until("devices are gone"));
  listening.node.daemon().signal(SIGTERM);
  CHECK(page.ended());
  CHECK(listening.node.daemon().wait_for_exit(limit(200ms)) == 0);
}

TEST_CASE("a watching page does not delay a list while a reload moves the server") {
  Listening listening;
  Node& node = listening.node;
  EventSource page(listening.port);
  REQUIRE(page.read_until("event: status"));
  listening.configure("127.0.0.2:0");
  node.daemon().signal(SIGHUP);
  REQUIRE(page.ended());
  node.files().file("gophers/bob");
  CHECK(node.healthy(kGopher, "bob", limit(200ms)));
}

TEST_CASE("the server does not delay the end of the daemon, whatever its address") {
  for (const char* address : {"0.0.0.0:0", "127.0.0.1:0"}) {
    CAPTURE(address);
    Listening listening(address);
    listening.node.daemon().signal(SIGTERM);
    CHECK(listening.node.daemon().wait_for_exit(limit(200ms)) == 0);
  }
}

TEST_CASE("a page beyond the limit of 16 is refused, and probes are still answered") {
  Listening listening;
  std::vector<std::unique_ptr<EventSource>> pages;
  for (int i = 0; i < 16; ++i) {
    pages.push_back(std::make_unique<EventSource>(listening.port));
    REQUIRE(pages.back()->read_until("event: status"));
  }
  EventSource next_one(listening.port);
  CHECK(next_one.read_until("16 follow the status or the events already"));
  CHECK(http(listening.port, "/healthz").code == 200);
  pages.pop_back();
  listening.node.files().file("gophers/bob");  // a closed connection is noticed at the next message
  CHECK(eventually([&] {
    EventSource next(listening.port);
    return next.read_until("event: status", 500ms).has_value();
  }));
}

TEST_CASE("the network address is read-only, accepts only local host names, and serves no other files") {
  const Listening listening;
  CHECK(http(listening.port, "/", "POST").code == 405);
  for (const char* host : {"attacker.example", "127.attacker.example", "127.0.0.1.nip.io", "[::1].evil"})
    CHECK(http(listening.port, "/status.json", "GET", "Host: " + std::string(host) + "\r\n").code == 421);
  CHECK(http(listening.port, "/etc/passwd").code == 404);
  CHECK(http(listening.port, "/../../../../etc/passwd").code >= 400);
  const HttpReply page = http(listening.port, "/");
  CHECK(page.code == 200);
  CHECK(page.head.find("Content-Security-Policy: default-src 'none'") != std::string::npos);
  CHECK(page.body.find("<title>plughost") != std::string::npos);
  const HttpReply head = http(listening.port, "/", "HEAD");
  CHECK(head.code == 200);
  CHECK(head.body.empty());
}

TEST_CASE("200 clients without a complete request delay neither a probe nor the daemon's end") {
  Listening listening;
  std::vector<std::unique_ptr<HalfAsking>> clients;
  for (int i = 0; i < 200; ++i)
    clients.push_back(std::make_unique<HalfAsking>(listening.port, i % 2 == 0 ? "" : "GET /met"));
  for (const char* path : {"/healthz", "/metrics"}) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(http(listening.port, path).code == 200);
    CHECK(std::chrono::steady_clock::now() - begin < limit(500ms));
  }
  const HalfAsking last(listening.port, "");
  listening.node.daemon().signal(SIGTERM);
  CHECK(listening.node.daemon().wait_for_exit(limit(200ms)) == 0);
}

TEST_CASE("a kubelet that accepts connections and does not respond does not affect /healthz") {
  Node node;
  const UniqueFd silent = listen_unix(node.path(Node::kPodResources));
  node.set_top("listen: 127.0.0.1:0\n");
  node.configure(counted(kGopher, 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  const unsigned port = http_port(node);
  const auto begin = std::chrono::steady_clock::now();
  CHECK(http(port, "/healthz").body == "alive\n");
  CHECK(std::chrono::steady_clock::now() - begin < limit(50ms));
}

TEST_CASE("a reload whose address is in use changes nothing, and the error has the line") {
  Listening listening;
  Node& node = listening.node;
  const Listening other;
  const std::string taken = "127.0.0.1:" + std::to_string(other.port);
  node.set_top("listen: " + taken + "\n");
  node.configure(counted("example.com/new", 1));
  const Finished refused = run_plughost({"reload", "--control", node.control()});
  CHECK(refused.exit_code == 1);
  CHECK(refused.output.find(node.configuration() + ":2:9: listen: cannot listen on " + taken +
                            ": Address already in use") != std::string::npos);
  CHECK(http(listening.port, "/healthz").code == 200);
  CHECK(json::parse(http(listening.port, "/status.json").body)["resources"][0]["name"] == kGopher);
  CHECK(node.attached({kGopher}, 0ms));
}

TEST_CASE("a reload opens a local page to the network, on the same port") {
  Listening listening;
  listening.configure("0.0.0.0:" + std::to_string(listening.port));
  const Finished moved = run_plughost({"reload", "--control", listening.node.control()});
  CHECK_MESSAGE(moved.exit_code == 0, moved.output);
  CHECK(eventually([&] {
    try {
      return http(listening.port, "/", "GET", "Host: node.example\r\n").code == 200;
    } catch (const std::system_error&) {
      return false;
    }
  }));
}

TEST_CASE("a reload moves the page, and a port that is in use at the start affects no device") {
  Listening listening;
  Node& node = listening.node;
  const std::size_t from = node.daemon().mark();
  listening.configure("127.0.0.2:0");
  REQUIRE(node.reload());
  REQUIRE(http_port(node, from) != 0);
  CHECK(eventually([&] { return !reachable(listening.port); }));

  Node other;
  const Listening first;
  other.set_top("listen: 127.0.0.1:" + std::to_string(first.port) + "\n");
  other.configure(counted("example.com/other", 1));
  other.start_kubelet();
  other.start_daemon();
  CHECK(other.attached({"example.com/other"}));
  CHECK(other.daemon().wait_for_line({"cannot listen for status requests", "cannot listen on"}, kLong));
}
