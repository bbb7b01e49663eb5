#include "daemon/status/status.hpp"
#include "places.hpp"

#include <doctest/doctest.h>

#include "host/hardware/machine_files.hpp"

using namespace plughost;

namespace {

using Texts = std::vector<std::string>;

ResourceStatus made_resource(const std::string& name, const std::string& entry, std::vector<Device> devices) {
  ResourceStatus made{.name = name, .entry = entry, .stage = Stage::kAttached};
  made.snapshot = std::make_shared<const ResourceSnapshot>(
      ResourceSnapshot{.resource = name, .inventory = Inventory(std::move(devices)), .spec = nullptr});
  return made;
}

DaemonStatus node(std::vector<ResourceStatus> resources, std::vector<EntryStatus> entries) {
  DaemonStatus status;
  status.resources = std::move(resources);
  status.entries = std::move(entries);
  return status;
}

const EntryStatus kEntry{.name = "x.com/a", .scans_completed = 1};
const EntryStatus kRequired{.name = "x.com/a", .scans_completed = 1, .required = true};

Json status_with(const Texts& problems) { return {{"problems", problems}, {"resources", Json::Array()}}; }

}  // namespace

TEST_CASE("a node is ready if its resources are attached, whatever the health of their devices") {
  CHECK(problems(node({}, {})).empty());
  CHECK(problems(node({made_resource("x.com/a", "x.com/a", {})}, {kEntry})).empty());
  CHECK(problems(node({made_resource("x.com/a", "x.com/a", {{.id = "0", .error = "sick"}})}, {kEntry}))
            .empty());
  // An entry whose name has a placeholder may have no resource.
  CHECK(problems(node({}, {kEntry})).empty());
}

TEST_CASE("an unattached or miscounted resource, and an unscanned or stalled entry, are problems") {
  DaemonStatus status =
      node({made_resource("x.com/a", "x.com/a", {}), made_resource("x.com/b", "x.com/b", {})},
           {kEntry, {.name = "x.com/c"}, {.name = "x.com/d", .scans_completed = 1, .stalled = true}});
  status.resources[0].stage = Stage::kBackingOff;
  status.resources[0].disagreement = "it is not attached, so it counts nothing";
  status.resources[1].disagreement = "it counts 0";
  CHECK(problems(status) == Texts{"not attached: x.com/a", "the kubelet counts other devices: x.com/b",
                                  "not scanned yet: x.com/c", "device scan does not end: x.com/d"});
}

TEST_CASE("drains that cannot be read are the first problem, and known drains are none") {
  DaemonStatus status = node({}, {kRequired});
  status.drains.set({"x.com/a", "0"}, Drain{});
  CHECK(problems(status).size() == 1);
  status.drains.set({}, Drain{});
  CHECK(problems(status).front() == "every device is out of service: drains are unreadable");
}

TEST_CASE("an entry whose condition is unknown is a problem, and an entry that does not apply is not") {
  DaemonStatus status = node({}, {});
  status.configuration.others = {
      {.name = "x.com/a", .why = "arch is x86_64, not arm64"},
      {.name = "x.com/b", .why = "the node's labels are not known", .unknown = true}};
  CHECK(problems(status) == Texts{"cannot determine whether it is for this node: x.com/b"});
}

TEST_CASE("a required entry needs one Healthy device in any of its resources, and is reported first") {
  const Texts missing{"required, and no device is Healthy: x.com/a"};
  CHECK(problems(node({}, {kRequired})) == missing);
  CHECK(problems(node({made_resource("x.com/a", "x.com/a", {})}, {kRequired})) == missing);
  const auto sick = made_resource("x.com/a0", "x.com/a", {{.id = "0", .error = "sick"}});
  CHECK(problems(node({sick}, {kRequired})) == missing);
  // A drained device is out of service.
  CHECK(problems(
            node({made_resource("x.com/a", "x.com/a", {{.id = "0", .reasons = {Reason::drain("drained")}}})},
                 {kRequired})) == missing);
  CHECK(problems(node({sick, made_resource("x.com/a1", "x.com/a", {{.id = "1"}})}, {kRequired})).empty());
  // A device that a pod received by another plugin's id is in service.
  CHECK(problems(node({made_resource("x.com/a", "x.com/a",
                                     {{.id = "0", .reasons = {Reason::holder("held", {0})}}})},
                      {kRequired}))
            .empty());
  // A different entry's device does not count.
  CHECK(problems(node({sick, made_resource("x.com/b", "x.com/b", {{.id = "1"}})}, {kRequired})) == missing);
  // The devices are unknown before the first scan.
  CHECK(problems(node({}, {{.name = "x.com/a", .required = true}})) == Texts{"not scanned yet: x.com/a"});

  DaemonStatus both = node({sick}, {kRequired});
  both.resources[0].stage = Stage::kWaiting;
  CHECK(problems(both) == Texts{missing[0], "not attached: x.com/a0"});
}

TEST_CASE("the readiness check reports a ready node with the numbers of resources and devices") {
  DaemonStatus status =
      node({made_resource("x.com/a", "x.com/a", {{.id = "0", .replicas = 3}, {.id = "1", .error = "sick"}})},
           {kEntry});
  Readiness check = readiness_of(status.json());
  CHECK(check.verdict == Readiness::Verdict::kOk);
  CHECK(static_cast<int>(check.verdict) == 0);
  CHECK(check.line == "1 resource attached, 3 of 4 devices Healthy");
  check = readiness_of(status_with({}));
  CHECK(check.line == "0 resources attached, 0 of 0 devices Healthy");
}

TEST_CASE(
    "the readiness check reports one problem, and the number of others, on a line of at most 80 bytes") {
  Readiness check = readiness_of(status_with({"not attached: x.com/a"}));
  CHECK(static_cast<int>(check.verdict) == 1);
  CHECK(check.line == "not attached: x.com/a");
  check = readiness_of(status_with({"not attached: x.com/a", "b", "c"}));
  CHECK(check.line == "not attached: x.com/a (and 2 more)");

  CHECK(readiness_of(status_with({std::string(80, 'x')})).line == std::string(80, 'x'));
  CHECK(readiness_of(status_with({std::string(81, 'x')})).line == std::string(77, 'x') + "...");
  const std::string more = " (and 1 more)";  // 13 bytes
  CHECK(readiness_of(status_with({std::string(67, 'x'), "b"})).line == std::string(67, 'x') + more);
  CHECK(readiness_of(status_with({std::string(68, 'x'), "b"})).line == std::string(64, 'x') + "..." + more);
  CHECK(readiness_of(status_with({std::string(200, 'x'), "b"})).line == std::string(64, 'x') + "..." + more);
  CHECK(readiness_of(status_with({"l\xc3\xbc\n"})).line == "l???");
}

TEST_CASE(
    "the monitor in docs/node-condition.md runs the readiness check, and does not cut the check's line") {
  const std::string page = file_text(test::in_source("/docs/node-condition.md")).value_or("");
  const std::string begin = "```json\n";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t text = from + begin.size();
  const Json monitor = Json::parse(page.substr(text, page.find("```", text) - text));
  CHECK(monitor["pluginConfig"]["max_output_length"].number() == Readiness::kMostBytes);
  REQUIRE(monitor["rules"].array().size() == 1);
  const Json& rule = monitor["rules"].array()[0];
  CHECK(rule["path"] == Json("/usr/bin/plughost"));
  CHECK(rule["args"] == Json(Texts{"status", "--check"}));
  CHECK(rule["condition"] == monitor["conditions"].array().at(0)["type"]);
}

TEST_CASE("the readiness check reports that the state is unknown, and why") {
  const Readiness check = unknown_readiness("plughost does not answer: " + std::string(100, 'x'));
  CHECK(static_cast<int>(check.verdict) == 2);
  CHECK(check.line.size() == 80);
  CHECK(check.line.starts_with("plughost does not answer: "));
}
