#include "tools/convert/manifests/charts.hpp"

#include <doctest/doctest.h>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

using enum OtherPlugin;
using Texts = std::vector<std::string>;

Node parsed(const std::string& text) {
  Diagnostics diagnostics;
  auto root = parse_yaml(text, "c.yaml", diagnostics);
  REQUIRE(root);
  REQUIRE_FALSE(diagnostics.has_errors());
  return *std::move(root);
}

std::optional<UsedChart> used(const std::string& text) {
  Diagnostics diagnostics;
  return used_chart(parsed(text), "here", diagnostics);
}

std::optional<ChartPlugin> plugin_of(const std::string& chart, const std::string& values) {
  Diagnostics diagnostics;
  return plugin_of_chart(chart, parsed(values), "here", diagnostics);
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
  CHECK(plugin_of("intel-device-plugins-gpu", "{sharedDevNum: 9}")->line.words ==
        Texts{"--shared-dev-num=9", "--enable-monitoring=true"});
  CHECK(plugin_of("intel-device-plugins-gpu", "{enableMonitoring: false, allocationPolicy: packed}")
            ->line.words == Texts{"--allocation-policy=packed", "--enable-monitoring=false"});
  CHECK(plugin_of("amd-gpu", "{dp: {args: [-pulse=3]}}")->line.words == Texts{"-pulse=3"});
  CHECK_FALSE(plugin_of("nginx", "{}"));
}

TEST_CASE("the GPU operator's values decide the driver's root, and whether there is a plugin") {
  const auto with_driver = plugin_of("gpu-operator", "{}");
  REQUIRE(with_driver);
  CHECK(with_driver->plugin == kNvidia);
  CHECK(with_driver->line.environment.at("NVIDIA_DRIVER_ROOT") == "/run/nvidia/driver");
  CHECK(with_driver->line.environment.at("MIG_STRATEGY") == "single");
  const auto without = plugin_of("gpu-operator", "{driver: {enabled: false}, mig: {strategy: mixed}}");
  CHECK_FALSE(without->line.environment.contains("NVIDIA_DRIVER_ROOT"));
  CHECK(without->line.environment.at("MIG_STRATEGY") == "mixed");
  CHECK_FALSE(plugin_of("gpu-operator", "{devicePlugin: {enabled: false}}"));
}

TEST_CASE("an operator's own object, such as a GpuDevicePlugin, starts a plugin") {
  Diagnostics diagnostics;
  const auto intel =
      plugin_of_object(parsed("{kind: GpuDevicePlugin, apiVersion: a, spec: {sharedDevNum: 2, denyIDs: "
                              "'0x1234', preferredAllocationPolicy: balanced}}"),
                       "here", diagnostics);
  REQUIRE(intel);
  CHECK(intel->line.words ==
        Texts{"--shared-dev-num=2", "--allocation-policy=balanced", "--deny-ids=0x1234"});
  CHECK_FALSE(plugin_of_object(parsed("{kind: Pod, apiVersion: v1}"), "here", diagnostics));
  CHECK_FALSE(
      plugin_of_object(parsed("{kind: ClusterPolicy, apiVersion: kyverno.io/v1}"), "here", diagnostics));
}

}  // namespace
}  // namespace plughost
