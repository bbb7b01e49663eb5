#include "tools/doctor/api_permissions.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

Texts rights(const std::string& text) {
  const test::TempDir dir;
  dir.file("config.yaml", text);
  Texts texts;
  for (const Right& right : rights_of(load_config(dir.at("config.yaml"))))
    texts.push_back(right.key + ": " + right.text() + " [" + right.name + ']');
  return texts;
}

TEST_CASE("a configuration needs only the rights that it uses") {
  CHECK(rights("resources: []\n").empty());
  CHECK(rights("apiServer: {}\nresources: []\n").empty());
  CHECK(rights("apiServer: {}\nresources: [{name: x.com/a, count: 1}]\n").empty());
}

TEST_CASE(
    "counts of cards need the rights to watch this Node and to patch its status, and none to other Nodes") {
  const auto entry = [](const std::string& name) {
    return "- {name: x.com/" + name + ", gpu: {unit: {memory: 1GiB}}, nodeResources: {x.com/n-" + name +
           ": \"{cards}\"}, only: {name: " + name + "}}\n";
  };
  const Texts expected{"nodeResources: list nodes, where metadata.name={node} [{node}]",
                       "nodeResources: watch nodes, where metadata.name={node} [{node}]",
                       "nodeResources: patch nodes/status {node} [{node}]"};
  CHECK(rights("apiServer: {}\nresources:\n" + entry("a")) == expected);
  CHECK(rights("apiServer: {}\nresources:\n" + entry("a") + entry("b")) == expected);
}

TEST_CASE(
    "conditions on labels need the right to watch the Node, listed once with counts of cards, and not with a "
    "file of labels") {
  const std::string entries =
      "resources:\n- {name: x.com/a, gpu: {unit: {memory: 1GiB}}, nodeResources: {x.com/n: \"{cards}\"}}\n";
  const std::string labelled = entries + "- {name: x.com/b, count: 1, when: {label: {rack: a}}}\n";
  CHECK(rights("apiServer: {}\n" + labelled) ==
        Texts{"when: list nodes, where metadata.name={node} [{node}]",
              "when: watch nodes, where metadata.name={node} [{node}]",
              "nodeResources: patch nodes/status {node} [{node}]"});
  CHECK(rights("nodeLabels: /etc/labels\napiServer: {}\n" + labelled) == rights("apiServer: {}\n" + entries));
}

TEST_CASE("if a scheduler chooses cards, the node's pods are watched, and their status is patched") {
  const std::string entry = "resources: [{name: x.com/a, gpu: {unit: {memory: 1GiB}}, assume: {dialect: ";
  const Texts pods{"assume: list pods, where spec.nodeName={node} []",
                   "assume: watch pods, where spec.nodeName={node} []", "assume: patch pods/status []"};
  CHECK(rights("apiServer: {}\n" + entry + "doslab}}]\n") == pods);
  Texts with_node{"assume: list nodes, where metadata.name={node} [{node}]",
                  "assume: watch nodes, where metadata.name={node} [{node}]"};
  with_node.insert(with_node.end(), pods.begin(), pods.end());
  CHECK(rights("apiServer: {}\n" + entry + "gpushare}}]\n") == with_node);
  // Both need the same lists.
  Texts with_events = pods;
  with_events.emplace_back("events: create events []");
  CHECK(rights("apiServer: {}\nevents: true\n" + entry + "volcano}}]\n") == with_events);
}

TEST_CASE("Events are created, and the uids of the node's own pods are read") {
  CHECK(rights("apiServer: {}\nevents: true\nresources: []\n") ==
        Texts{"events: create events []", "events: list pods, where spec.nodeName={node} []"});
}

}  // namespace
}  // namespace plughost
