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

TEST_CASE("a configuration that does not use the API server needs no rights") {
  CHECK(rights("resources: []\n").empty());
  CHECK(rights("apiServer: {}\nresources: []\n").empty());
  CHECK(rights("apiServer: {}\nresources: [{name: x.com/a, count: 1}]\n").empty());
}

TEST_CASE(
    "`nodeResources` needs the rights to watch this node's Node and to patch its status, each listed once") {
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
    "a condition on a label needs the right to watch the Node, listed once, and no right if `nodeLabels` is "
    "set") {
  const std::string entries =
      "resources:\n- {name: x.com/a, gpu: {unit: {memory: 1GiB}}, nodeResources: {x.com/n: \"{cards}\"}}\n";
  const std::string labelled = entries + "- {name: x.com/b, count: 1, when: {label: {rack: a}}}\n";
  CHECK(rights("apiServer: {}\n" + labelled) ==
        Texts{"when: list nodes, where metadata.name={node} [{node}]",
              "when: watch nodes, where metadata.name={node} [{node}]",
              "nodeResources: patch nodes/status {node} [{node}]"});
  CHECK(rights("nodeLabels: /etc/labels\napiServer: {}\n" + labelled) == rights("apiServer: {}\n" + entries));
}

TEST_CASE(
    "`assume` needs the rights to watch the node's pods and to patch their status, and gpushare to watch the "
    "Node") {
  const std::string entry = "resources: [{name: x.com/a, gpu: {unit: {memory: 1GiB}}, assume: {dialect: ";
  const Texts pods{"assume: list pods, where spec.nodeName={node} []",
                   "assume: watch pods, where spec.nodeName={node} []", "assume: patch pods/status []"};
  CHECK(rights("apiServer: {}\n" + entry + "doslab}}]\n") == pods);
  Texts with_node{"assume: list nodes, where metadata.name={node} [{node}]",
                  "assume: watch nodes, where metadata.name={node} [{node}]"};
  with_node.insert(with_node.end(), pods.begin(), pods.end());
  CHECK(rights("apiServer: {}\n" + entry + "gpushare}}]\n") == with_node);
  // `events` also needs the right to list pods, which is listed once.
  Texts with_events = pods;
  with_events.emplace_back("events: create events []");
  CHECK(rights("apiServer: {}\nevents: true\n" + entry + "volcano}}]\n") == with_events);
}

TEST_CASE("`events` needs the rights to create Events and to list the node's pods") {
  CHECK(rights("apiServer: {}\nevents: true\nresources: []\n") ==
        Texts{"events: create events []", "events: list pods, where spec.nodeName={node} []"});
}

}  // namespace
}  // namespace plughost
