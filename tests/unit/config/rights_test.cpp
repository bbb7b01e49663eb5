#include "config/rights.hpp"

#include <doctest/doctest.h>

#include "unit/config/config_of.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

Texts rights(const std::string& text) {
  Texts texts;
  for (const Right& right : rights_of(test::config_of(text)))
    texts.push_back(right.key + ": " + right.text());
  return texts;
}

const std::string kByLabel = "resources: [{name: x.com/a, count: 1, when: {label: {rack: a}}}]\n";

TEST_CASE("a configuration needs no right that nothing in it uses") {
  CHECK(rights("resources: []\n").empty());
  CHECK(rights("apiServer: {}\nresources: []\n").empty());
  CHECK(rights("apiServer: {}\nresources: [{name: x.com/a, count: 1, when: {arch: amd64}}]\n").empty());
  CHECK(rights("nodeLabels: /etc/labels\napiServer: {}\n" + kByLabel).empty());
}

TEST_CASE("conditions on labels and on the node's name list and watch our own Node, and no other") {
  const Texts expected{"when: list nodes, where metadata.name={node}",
                       "when: watch nodes, where metadata.name={node}"};
  CHECK(rights("apiServer: {}\n" + kByLabel) == expected);
  CHECK(rights("apiServer: {}\nresources: [{name: x.com/a, count: 1, when: {node: n-*}}]\n") == expected);
  for (const Right& right : rights_of(test::config_of("apiServer: {}\n" + kByLabel))) {
    CHECK(right.name == "{node}");
    CHECK(right.for_devices);
  }
}

TEST_CASE("events are created, and the pods of our node are listed for their uids") {
  CHECK(rights("apiServer: {}\nevents: true\nresources: []\n") ==
        Texts{"events: create events", "events: list pods, where spec.nodeName={node}"});
  for (const Right& right : rights_of(test::config_of("apiServer: {}\nevents: true\nresources: []\n")))
    CHECK_FALSE(right.for_devices);
}

TEST_CASE("counts of cards are patched into our own Node's status, which is watched") {
  const std::string text =
      "apiServer: {}\nresources: [{name: x.com/a, gpu: {unit: {memory: 1GiB}}, nodeResources: {x.com/n: "
      "\"{cards}\"}}]\n";
  CHECK(rights(text) == Texts{"nodeResources: list nodes, where metadata.name={node}",
                              "nodeResources: watch nodes, where metadata.name={node}",
                              "nodeResources: patch nodes/status {node}"});
  for (const Right& right : rights_of(test::config_of(text))) {
    CHECK(right.name == "{node}");
    CHECK(right.for_devices);
  }
}

TEST_CASE("where a scheduler chooses cards the pods of our node are watched, and their status is patched") {
  const std::string text =
      "apiServer: {}\nresources: [{name: x.com/a, gpu: {unit: {memory: 1GiB}}, assume: {dialect: ";
  const Texts pods{"assume: list pods, where spec.nodeName={node}",
                   "assume: watch pods, where spec.nodeName={node}", "assume: patch pods/status"};
  CHECK(rights(text + "doslab}}]\n") == pods);
  for (const Right& right : rights_of(test::config_of(text + "doslab}}]\n"))) CHECK(right.for_devices);
  Texts with_node = pods;
  with_node.insert(with_node.end(), {"assume: list nodes, where metadata.name={node}",
                                     "assume: watch nodes, where metadata.name={node}"});
  CHECK(rights(text + "gpushare}}]\n") == with_node);
}

TEST_CASE("a pool is written in slices of our node, and its claims are read") {
  const std::string text = "apiServer: {}\nresources: [{name: x.com/a, count: 1, advertise: dra}]\n";
  CHECK(rights(text) == Texts{"advertise: list resourceslices.resource.k8s.io, where spec.nodeName={node}",
                              "advertise: watch resourceslices.resource.k8s.io, where spec.nodeName={node}",
                              "advertise: create resourceslices.resource.k8s.io",
                              "advertise: get resourceslices.resource.k8s.io",
                              "advertise: update resourceslices.resource.k8s.io",
                              "advertise: delete resourceslices.resource.k8s.io",
                              "advertise: get resourceclaims.resource.k8s.io",
                              "advertise: list nodes, where metadata.name={node}",
                              "advertise: watch nodes, where metadata.name={node}",
                              "advertise: patch nodes/status {node}"});
  for (const Right& right : rights_of(test::config_of(text))) {
    CHECK(right.for_devices == (right.verb != "patch"));  // without it pods of 1.34 and 1.35 wait
    const bool of_objects = right.verb == "get" || right.verb == "update" || right.verb == "delete";
    CHECK(right.of_own_objects == of_objects);
  }
}

TEST_CASE("a right's text names a subresource, and a name where nothing is selected") {
  CHECK(Right{.verb = "patch", .resource = "nodes", .subresource = "status", .name = "{node}"}.text() ==
        "patch nodes/status {node}");
}

}  // namespace
}  // namespace plughost
