#include "daemon/telemetry/metrics.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <vector>

using namespace plughost;

namespace {

using Lines = std::vector<std::string>;

// Returns the lines of the metric, without the metric's name.
Lines lines_of(const std::string& text, const std::string& metric) {
  Lines found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(metric + '{') || line.starts_with(metric + ' '))
      found.push_back(line.substr(metric.size()));
  return found;
}

// Returns a status with the devices amy, bob with three shares, and eve without a node.
DaemonStatus status() {
  Device amy{.id = "amy", .nodes = {{.host_path = "/dev/amy"}, {.host_path = "/dev/amy-control"}}};
  Device bob{
      .id = "bob", .error = "it is gone", .gone = true, .nodes = {{.host_path = "/dev/bob"}}, .replicas = 3};
  Device eve{.id = "eve"};
  ResourceStatus resource{.name = "x.example/a", .entry = "x.example/a"};
  resource.snapshot = std::make_shared<const ResourceSnapshot>(
      ResourceSnapshot{.resource = resource.name, .inventory = Inventory({amy, bob, eve}), .spec = nullptr});
  resource.calls = std::make_shared<const CallTally>(nullptr);
  DaemonStatus status;
  status.resources.push_back(resource);
  status.device_metrics = true;
  status.holdings = std::make_shared<const Holdings>();
  return status;
}

Lines devices(const DaemonStatus& status) { return lines_of(metrics_text(status), "plughost_device_info"); }

const std::string kNobody = R"(namespace="",pod="",container=""} 1)";

}  // namespace

TEST_CASE("the series of a free device has no pod, and has the first of the device's nodes") {
  CHECK(devices(status()) == Lines{R"({resource="x.example/a",device="amy",node_path="/dev/amy",)" + kNobody,
                                   R"({resource="x.example/a",device="bob",node_path="/dev/bob",)" + kNobody,
                                   R"({resource="x.example/a",device="eve",node_path="",)" + kNobody});
}

TEST_CASE("a device has one series for each container that holds it, however many shares the container has") {
  DaemonStatus held = status();
  const Holder first{.pod_namespace = "default", .pod = "pod-1", .container = "main"};
  const Holder second{.pod_namespace = "default", .pod = "pod-2", .container = "main"};
  held.holdings = std::make_shared<const Holdings>(
      Holdings{{"x.example/a", {{"bob::0", first}, {"bob::1", second}, {"bob::2", first}, {"nobody", first}}},
               {"x.example/b", {{"amy", first}}}});
  const std::string bob =
      R"({resource="x.example/a",device="bob",node_path="/dev/bob",namespace="default",pod=")";
  CHECK(devices(held) == Lines{R"({resource="x.example/a",device="amy",node_path="/dev/amy",)" + kNobody,
                               bob + R"(pod-1",container="main"} 1)", bob + R"(pod-2",container="main"} 1)",
                               R"({resource="x.example/a",device="eve",node_path="",)" + kNobody});
}

TEST_CASE("devices have series only if configured, and only if their holders are known") {
  DaemonStatus silent = status();
  silent.device_metrics = false;
  CHECK(metrics_text(silent).find("plughost_device_info") == std::string::npos);
  DaemonStatus unknown = status();
  unknown.holdings = nullptr;
  CHECK(metrics_text(unknown).find("plughost_device_info") == std::string::npos);
  CHECK(metrics_text(status()).find("plughost_device_info") != std::string::npos);
}

TEST_CASE("the textfile has all metrics except those that node_exporter has itself") {
  const std::string all = metrics_text(status());
  const std::string file = textfile_text(status());
  CHECK(all.starts_with(file));
  CHECK(all.find("process_cpu_seconds_total") != std::string::npos);
  CHECK(file.find("process_") == std::string::npos);
  CHECK(file.find("plughost_log_messages_total") != std::string::npos);
}

TEST_CASE("shares that pods hold by unlisted ids are unhealthy, and counted separately") {
  DaemonStatus taken = status();
  Device gpu{.id = "gpu", .replicas = 3, .reasons = {Reason::holder("held", {1, 2})}};
  taken.resources[0].snapshot = std::make_shared<const ResourceSnapshot>(
      ResourceSnapshot{.resource = "x.example/a", .inventory = Inventory({gpu}), .spec = nullptr});
  const std::string text = metrics_text(taken);
  CHECK(lines_of(text, "plughost_devices") == Lines{R"({resource="x.example/a",health="healthy"} 1)",
                                                    R"({resource="x.example/a",health="unhealthy"} 2)"});
  CHECK(lines_of(text, "plughost_devices_adopted") == Lines{R"({resource="x.example/a"} 2)"});
  CHECK(lines_of(text, "plughost_devices_held") == Lines{R"({resource="x.example/a"} 0)"});
}
