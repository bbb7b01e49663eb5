#include "tools/plan/plan.hpp"

#include <doctest/doctest.h>

#include "unit/config/config_of.hpp"

namespace plughost {
namespace {

using test::config_of;
using Texts = std::vector<std::string>;

Facts node_with(const std::string& tree) {
  return read_facts(R"({"plughostFacts": 1, "node": "n", "tree": )" + tree + "}");
}

PlannedNode plan_of(const std::string& resources, const Facts& facts) {
  return plan(config_of("domain: x.com\nresources: " + resources), facts);
}

const std::string kSerial = "[{name: serial, groups: [{paths: [{path: /dev/ttyUSB*}]}]}]";

TEST_CASE("a node has the devices in its facts, not those of this machine") {
  const Facts facts = node_with(R"({"dev": {"ttyUSB0": ["char", "188:0"], "ttyUSB1": ["char", "188:1"]}})");
  const PlannedNode node = plan_of(
      "[{name: serial, groups: [{paths: [{path: /dev/ttyUSB*}]}]}, "
      "{name: none, groups: [{paths: [{path: /dev/null}]}]}, "
      "{name: card, gpu: {}}, {name: token, count: 2, replicas: 3}]",
      facts);
  CHECK(node.errors.empty());
  CHECK(node.resources.at("x.com/serial").count() == 2);
  CHECK(node.resources.at("x.com/serial").devices.contains("ttyUSB1"));
  CHECK(node.resources.at("x.com/none").count() == 0);
  CHECK(node.resources.at("x.com/card").count() == 0);
  CHECK(node.resources.at("x.com/token").count() == 6);
}

TEST_CASE("an Unhealthy device counts, but not as a healthy one") {
  const PlannedNode node =
      plan_of("[{name: fb, groups: [{paths: [{path: /dev/fb0}]}]}]", node_with(R"({"dev": {"fb0": ""}})"));
  const PlannedResource& resource = node.resources.at("x.com/fb");
  CHECK(resource.count() == 1);
  CHECK(resource.healthy() == 0);
  CHECK(resource.devices.at("fb0").error.find("regular file") != std::string::npos);
}

TEST_CASE("an entry that does not apply has a reason, and a program's list is unknown") {
  const Facts facts = node_with(R"({"proc": {"sys": {"kernel": {"hostname": "vm-1\n"}}}})");
  const PlannedNode node = plan_of(
      "[{name: card, count: 1, when: {hostname: gpu-*}}, {name: program, exec: {discover: /bin/true, "
      "interval: 5s}}]",
      facts);
  REQUIRE(node.others.size() == 1);
  CHECK(node.others[0].name == "x.com/card");
  CHECK(node.others[0].why == "hostname is 'vm-1', not gpu-*");
  CHECK_FALSE(node.resources.contains("x.com/card"));
  CHECK(node.resources.at("x.com/program").unknown);
  CHECK(node.errors.empty());
}

TEST_CASE("this machine's architecture and name are not used for a node without its own") {
  const PlannedNode node =
      plan_of("[{name: a, count: 1, when: {arch: \"?*\"}}, {name: b, count: 1, when: {node: \"*\"}}]",
              node_with(R"({"dev": {}})"));
  CHECK(node.resources.empty());
  CHECK(node.others.size() == 2);
}

TEST_CASE("a failure on a node is reported") {
  const Facts facts = node_with(R"({"dev": {"file": "", "a": ["char", "1:1"], "b": ["char", "1:2"]}})");
  const PlannedNode unreadable = plan_of("[{name: file, directory: {path: /dev/file}}]", facts);
  REQUIRE(unreadable.errors.size() == 1);
  CHECK(unreadable.errors[0].find("/dev/file is a file, and its files cannot be listed") !=
        std::string::npos);
  const PlannedNode twice = plan_of(
      "[{name: \"node-{name}\", groups: [{paths: [{path: \"/dev/?\"}]}]}, {name: node-b, count: 1}]", facts);
  CHECK(
      twice.errors ==
      Texts{
          "the entries x.com/node-{name} and x.com/node-b both make x.com/node-b; the second is refused it"});
  CHECK(twice.resources.size() == 2);
}

TEST_CASE("the differences of two configurations are reported by resource and id") {
  const Facts facts = node_with(
      R"({"dev": {"ttyUSB0": ["char", "188:0"], "ttyUSB1": ["char", "188:1"], "fb0": "", "x": {"fb0": ["char", "29:0"]}}})");
  const PlannedNode before = plan_of(
      "[{name: same, count: 1}, {name: serial, groups: [{paths: [{path: /dev/ttyUSB0}]}]}, "
      "{name: gone, count: 1}, {name: token, count: 2}, {name: fb, groups: [{paths: [{path: /dev/fb0}]}]}]",
      facts);
  const PlannedNode after = plan_of(
      "[{name: same, count: 1}, {name: serial, groups: [{paths: [{path: /dev/ttyUSB1}]}]}, "
      "{name: new, count: 1}, {name: token, count: 2, replicas: 2}, {name: fb, id: fb0, groups: [{paths: "
      "[{path: /dev/x/fb0}]}]}]",
      facts);
  const std::vector<PlannedChange> changes = changes_between(before, after);
  REQUIRE(changes.size() == 5);
  CHECK(changes[0].resource == "x.com/fb");
  CHECK(changes[0].changed == Texts{"fb0"});
  CHECK(changes[0].added.empty());
  CHECK(changes[0].removed.empty());
  CHECK(changes[1].resource == "x.com/gone");
  CHECK(changes[1].after == nullptr);
  CHECK(changes[1].before->count() == 1);
  CHECK(changes[1].removed.size() == 1);
  CHECK(changes[2].resource == "x.com/new");
  CHECK(changes[2].before == nullptr);
  CHECK(changes[2].added.size() == 1);
  CHECK(changes[3].resource == "x.com/serial");
  CHECK(changes[3].added == Texts{"ttyUSB1"});
  CHECK(changes[3].removed == Texts{"ttyUSB0"});
  CHECK(changes[3].changed.empty());
  CHECK(changes[4].resource == "x.com/token");
  CHECK(changes[4].changed.size() == 2);
  CHECK(changes_between(before, before).empty());
}

TEST_CASE("the state of a device on one node is not used for a node that is planned later") {
  const auto with_port = [](const std::string& state) {
    return node_with(R"({"dev": {"infiniband": {"uverbs0": ["char", "231:192"]}}, "sys": {
      "class": {"infiniband": {"mlx5_0": ["link", "../../devices/c/infiniband/mlx5_0"]},
                "infiniband_verbs": {"uverbs0": ["link", "../../devices/c/infiniband_verbs/uverbs0"]}},
      "devices": {"c": {"uevent": "", "infiniband": {"mlx5_0": {"uevent": "", "node_guid": "1:2:3:4\n",
                    "subsystem": ["link", "../../../../class/infiniband"],
                    "ports": {"1": {"state": ")" +
                     state + R"(\n", "link_layer": "InfiniBand\n"}}}},
                  "infiniband_verbs": {"uverbs0": {"uevent": "DEVNAME=infiniband/uverbs0\n", "ibdev": "mlx5_0\n"}}}}}})");
  };
  const Config config = config_of("resources: [{name: x.com/hca, rdma: {portState: any}}]");
  const auto healthy_on = [&](const Facts& facts) {
    return plan(config, facts).resources.at("x.com/hca").healthy();
  };
  CHECK(healthy_on(with_port("4: ACTIVE")) == 1);
  CHECK(healthy_on(with_port("1: DOWN")) == 0);
  CHECK(healthy_on(with_port("4: ACTIVE")) == 1);
}

TEST_CASE("the devices that are remembered from one node are not used for a node that is planned later") {
  const auto with_node = [](const std::string& name) {
    return node_with(R"({"sys": {"class": {"tty": {"t": ["link", "../../devices/t"]}},
                                 "devices": {"t": {"uevent": "DEVNAME=)" +
                     name + R"(\n", "subsystem": ["link", "../../class/tty"]}}}})");
  };
  const Config config = config_of("resources: [{name: x.com/t, id: \"{path}\", udev: {subsystem: tty}}]");
  for (const char* name : {"one", "other"})
    CHECK(
        plan(config, with_node(name)).resources.at("x.com/t").devices.contains("/dev/" + std::string(name)));
}

}  // namespace
}  // namespace plughost
