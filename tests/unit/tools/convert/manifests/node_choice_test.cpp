#include "tools/convert/manifests/node_choice.hpp"

#include <doctest/doctest.h>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;
using Terms = std::vector<LabelTerm>;

NodeChoice choice_of(const std::string& pod) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(pod, "pod.yaml", diagnostics);
  REQUIRE(root);
  return node_choice(*root);
}

std::string affinity(const std::string& terms) {
  return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" +
         terms + "]}}}\n";
}

TEST_CASE("a pod without a selector is for all nodes") {
  CHECK(choice_of("containers: []") == NodeChoice());
  CHECK(choice_of("nodeSelector: {kubernetes.io/os: linux}") == NodeChoice());
  CHECK(choice_of(affinity("{matchExpressions: [{key: plughost, operator: DoesNotExist}]}")) == NodeChoice());
}

TEST_CASE("a selector's labels must all be present, with its values") {
  CHECK(choice_of("nodeSelector: {a: x, b: ''}").any_of ==
        std::vector<Terms>{{{"a", true, {"x"}}, {"b", true, {""}}}});
}

TEST_CASE("one of an affinity's terms must hold, with all of its expressions") {
  const NodeChoice choice = choice_of(
      affinity("{matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: b, operator: Exists}]},"
               "{matchExpressions: [{key: c, operator: NotIn, values: [z]}, {key: d, operator: "
               "DoesNotExist}]}"));
  CHECK(choice.any_of == std::vector<Terms>{{{"a", true, {"x", "y"}}, {"b", true, {}}},
                                            {{"c", false, {"z"}}, {"d", false, {}}}});
}

TEST_CASE("a selector and an affinity must both hold, and the values for one label are their intersection") {
  const NodeChoice choice =
      choice_of("nodeSelector: {a: x}\n" +
                affinity("{matchExpressions: [{key: a, operator: In, values: [x, y]}, {key: b, "
                         "operator: In, values: [u]}]}, {matchExpressions: [{key: a, operator: "
                         "Exists}, {key: a, operator: NotIn, values: [q]}]}"));
  CHECK(choice.any_of == std::vector<Terms>{{{"a", true, {"x"}}, {"b", true, {"u"}}},
                                            {{"a", true, {"x"}}, {"a", false, {"q"}}}});
}

TEST_CASE("labels of hardware are listed apart, and so are expressions that plughost cannot express") {
  const NodeChoice choice = choice_of(
      "nodeSelector: {feature.node.kubernetes.io/pci-10de.present: 'true', a: x}\n" +
      affinity(
          "{matchExpressions: [{key: n, operator: Gt, values: ['4']}], matchFields: [{key: metadata.name}]},"
          "{matchExpressions: [{key: nvidia.com/gpu.present, operator: Exists}]}"));
  CHECK(choice.any_of == std::vector<Terms>{{{"a", true, {"x"}}}});
  CHECK(choice.of_hardware ==
        Texts{"feature.node.kubernetes.io/pci-10de.present: true", "nvidia.com/gpu.present: there"});
  CHECK(choice.unsaid == Texts{"n Gt 4", "the field metadata.name"});
}

TEST_CASE("the union of two node choices is all nodes if one of them is") {
  const NodeChoice a = choice_of("nodeSelector: {a: x}");
  const NodeChoice b = choice_of("nodeSelector: {b: y}");
  CHECK(either(a, b).any_of == std::vector<Terms>{{{"a", true, {"x"}}}, {{"b", true, {"y"}}}});
  CHECK(either(a, a) == a);
  CHECK(either(a, NodeChoice()).any_of.empty());
  CHECK(both(a, NodeChoice()) == a);
  CHECK(both(NodeChoice(), a) == a);
}

}  // namespace
}  // namespace plughost
