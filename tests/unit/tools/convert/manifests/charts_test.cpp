#include "tools/convert/manifests/charts.hpp"

#include <doctest/doctest.h>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Node parsed(const std::string& text) {
  Diagnostics diagnostics;
  auto root = parse_yaml(text, "c.yaml", diagnostics);
  REQUIRE(root);
  REQUIRE_FALSE(diagnostics.has_errors());
  return *std::move(root);
}

std::optional<UsedChart> used(const std::string& text) {
  Diagnostics diagnostics;
  return used_chart(parsed(text), "here", {{"alias", "amd-gpu"}}, diagnostics);
}

std::optional<ChartPlugin> plugin_of(const std::string& chart, const std::string& values) {
  Diagnostics diagnostics;
  return started_by(*chart_named(chart), parsed(values), "here", diagnostics);
}

TEST_CASE("a chart is found in the objects of Flux, Argo CD, k3s, Kustomize and helmfile") {
  for (const char* text :
       {"{chart: {spec: {chart: c}}, values: {a: 1}}",
        "{chartRef: {kind: OCIRepository, name: c}, values: {a: 1}}",
        "{chart: {repository: r, name: c}, values: {a: 1}}", "{chart: c, helm: {valuesObject: {a: 1}}}",
        "{chart: c, helm: {values: 'a: 1'}}", "{chart: c, helm: {parameters: [{name: a, value: 1}]}}",
        "{chart: oci://r/c, valuesContent: 'a: 1'}", "{chart: c, set: [{name: a, value: 1}]}",
        "{name: c, repo: r, version: 1, valuesInline: {a: 1}}", "{chart: ./r/c, values: [x.yaml, {a: 1}]}"}) {
    CAPTURE(text);
    const auto chart = used(text);
    REQUIRE(chart);
    CHECK(chart->name == "c");
    CHECK(content_of(chart->values) == content_of(parsed("{a: 1}")));
  }
  CHECK_FALSE(used("{name: c, values: {a: 1}}"));
  CHECK_FALSE(used("{kind: Chart}"));
}

TEST_CASE("values are merged: objects override texts, parameters override both, and dotted names are keys") {
  const auto chart = used(
      "{chart: c, helm: {values: '{a: 1, b: {c: 1, d: 1}}', valuesObject: {a: 2, b: {c: 2}}, parameters: "
      "[{name: "
      "b.c, value: 3}]}}");
  REQUIRE(chart);
  CHECK(content_of(chart->values) == content_of(parsed("{a: 2, b: {c: 3, d: 1}}")));
}

TEST_CASE("the files that a chart's values come from are listed") {
  CHECK(used("{chart: c, helm: {valueFiles: [a.yaml, b.yaml]}}")->files == Texts{"a.yaml", "b.yaml"});
  CHECK(used("{name: c, valuesFile: a.yaml, additionalValuesFiles: [b.yaml]}")->files ==
        Texts{"a.yaml", "b.yaml"});
  CHECK(used("{chart: {spec: {chart: c, valuesFiles: [a.yaml]}}}")->files == Texts{"a.yaml"});
  CHECK(used("{chart: r/c, values: [a.yaml]}")->files == Texts{"a.yaml"});
}

TEST_CASE("the charts of NVIDIA, Intel and ROCm start their plugins as their values say") {
  CHECK(plugin_of("nvidia-device-plugin", "{migStrategy: single}")->line.environment.at("MIG_STRATEGY") ==
        "single");
  CHECK(plugin_of("nvidia-device-plugin", "{config: {name: m}}")->config_maps == Texts{"m"});
  CHECK_FALSE(plugin_of("nvidia-device-plugin", "{devicePlugin: {enabled: false}}"));
  CHECK(plugin_of("intel-device-plugins-gpu", "{sharedDevNum: 9}")->line.environment ==
        Variables{{"ENABLE_MONITORING", "true"}, {"SHARED_DEV_NUM", "9"}});
  CHECK(plugin_of("intel-device-plugins-gpu", "{enableMonitoring: false, allocationPolicy: packed}")
            ->line.environment == Variables{{"ALLOCATION_POLICY", "packed"}, {"ENABLE_MONITORING", "false"}});
  CHECK(plugin_of("amd-gpu", "{dp: {args: [-pulse=3]}}")->line.words == Texts{"-pulse=3"});
  CHECK_FALSE(chart_named("nginx"));
}

TEST_CASE("the GPU operator's values decide the driver's root, and whether there is a plugin") {
  const auto with_driver = plugin_of("gpu-operator", "{}");
  REQUIRE(with_driver);
  CHECK(with_driver->line.environment.at("NVIDIA_DRIVER_ROOT") == "/run/nvidia/driver");
  CHECK(with_driver->line.environment.at("MIG_STRATEGY") == "single");
  const auto without = plugin_of("gpu-operator", "{driver: {enabled: false}, mig: {strategy: mixed}}");
  CHECK_FALSE(without->line.environment.contains("NVIDIA_DRIVER_ROOT"));
  CHECK(without->line.environment.at("MIG_STRATEGY") == "mixed");
  CHECK_FALSE(plugin_of("gpu-operator", "{devicePlugin: {enabled: false}}"));
}

TEST_CASE("an operator's own object, such as a GpuDevicePlugin, starts a plugin") {
  const Node object = parsed(
      "{kind: GpuDevicePlugin, apiVersion: deviceplugin.intel.com/v1, spec: {sharedDevNum: 2, denyIDs: "
      "'0x1234', "
      "preferredAllocationPolicy: balanced}}");
  const Chart* const chart = chart_of_object(object);
  REQUIRE(chart);
  Diagnostics diagnostics;
  CHECK(started_by(*chart, at(object, "spec"), "here", diagnostics)->line.environment ==
        Variables{{"ALLOCATION_POLICY", "balanced"}, {"DENY_IDS", "0x1234"}, {"SHARED_DEV_NUM", "2"}});
  CHECK_FALSE(chart_of_object(parsed("{kind: Pod, apiVersion: v1}")));
  CHECK_FALSE(chart_of_object(parsed("{kind: ClusterPolicy, apiVersion: kyverno.io/v1}")));
}

TEST_CASE("an operator's object has its flags in a map, and its nodes in a selector") {
  const Node object = parsed(
      "{kind: DeviceConfig, apiVersion: amd.com/v1alpha1, spec: {selector: {a: b}, devicePlugin: "
      "{devicePluginArguments: {resource_naming_strategy: mixed}}}}");
  Diagnostics diagnostics;
  const auto found = started_by(*chart_of_object(object), at(object, "spec"), "here", diagnostics);
  REQUIRE(found);
  CHECK(found->line.words == Texts{"--resource_naming_strategy=mixed"});
  REQUIRE(found->nodes.any_of.size() == 1);
  CHECK(found->nodes.any_of[0][0].label == "a");
}

TEST_CASE("values belong to a chart if all of their keys do, and one of them is its own") {
  const auto of = [](const char* values) {
    const Chart* const chart = chart_of_values(parsed(values));
    return chart ? (*chart)["name"] : std::string();
  };
  CHECK(of("{migStrategy: none, nodeSelector: {}}") == "nvidia-device-plugin");
  CHECK(of("{config: {map: {a: b}}}") == "nvidia-device-plugin");
  CHECK(of("{mig: {strategy: mixed}, devicePlugin: {}}") == "gpu-operator");
  CHECK(of("{name: x, sharedDevNum: 4}") == "intel-device-plugins-gpu");
  CHECK(of("{deviceListStrategy: envvar, nodeName: a}").empty());
  CHECK(of("{nodeSelector: {}, image: {}}").empty());
  CHECK(of("{}").empty());
}

TEST_CASE("a chart by an OCIRepository has the name in the repository's address") {
  CHECK(used("{chartRef: {kind: OCIRepository, name: alias}}")->name == "amd-gpu");
  CHECK(used("{chartRef: {kind: OCIRepository, name: other}}")->name == "other");
}

TEST_CASE("values that are a placeholder are an error for a known chart only") {
  const auto errors = [](const std::string& chart, const std::string& key) {
    Diagnostics diagnostics;
    used_chart(parsed("{chart: " + chart + ", helm: {" + key + ": '${values}'}}"), "here", {}, diagnostics);
    return diagnostics.error_count();
  };
  CHECK(errors("gpu-operator", "valuesObject") == 1);
  CHECK(errors("gpu-operator", "values") == 1);
  CHECK(errors("nginx", "valuesObject") == 0);
}

}  // namespace
}  // namespace plughost
