#include "tools/convert/manifests/manifests.hpp"

#include <doctest/doctest.h>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

using enum OtherPlugin;
using Texts = std::vector<std::string>;

struct Looked {
  Manifests manifests;
  Texts errors;

  Texts places() const {
    Texts all;
    for (const FoundPlugin& each : manifests.plugins) all.push_back(each.place);
    return all;
  }
  Texts starters() const {
    Texts all;
    for (const FoundPlugin& each : manifests.plugins) all.push_back(each.starter);
    return all;
  }
};

Looked look(const std::string& text) {
  Diagnostics diagnostics;
  const auto documents = parse_documents(text, "m.yaml", diagnostics);
  REQUIRE(documents);
  Looked looked{.manifests = find_configurations(*documents, diagnostics), .errors = {}};
  for (const Diagnostic& each : diagnostics.all()) looked.errors.push_back(each.text());
  return looked;
}

std::string config_map(const std::string& name, const std::string& device) {
  return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
         "}\ndata:\n  a.yaml: |\n    devices:\n    - {name: " + device +
         ", groups: [{paths: [{path: /dev/a}]}]}\n";
}

std::string pod(const std::string& name, const std::string& container, const std::string& volumes = "[]") {
  return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         ", namespace: n}\nspec:\n  containers:\n  - " + container + "\n  volumes: " + volumes + "\n";
}

constexpr const char* kGeneric = "{name: c, image: generic-device-plugin}";

TEST_CASE("a file that is itself a plugin's configuration is found, and its place is empty") {
  const Looked looked = look("domain: a.b\ndevices: []");
  REQUIRE(looked.manifests.plugins.size() == 1);
  CHECK(looked.manifests.plugins[0].plugin == kGenericDevicePlugin);
  CHECK(looked.places() == Texts{""});
  CHECK(looked.manifests.objects.empty());
}

TEST_CASE("in a Kubernetes object a list of devices is a configuration only if it has groups") {
  CHECK(look("apiVersion: v1\nkind: Thing\nmetadata: {name: a}\nspec: {devices: [{name: disk}]}")
            .places()
            .empty());
  CHECK(look("apiVersion: v1\nkind: Thing\nmetadata: {name: a}\nspec: {devices: [{name: a, groups: []}]}")
            .places() == Texts{"Thing a, spec"});
}

TEST_CASE("a container uses the configuration of the ConfigMap that it mounts") {
  const std::string maps = config_map("one", "a") + config_map("two", "b");
  const Looked looked = look(maps + pod("p", kGeneric, "[{configMap: {name: two}}]"));
  CHECK(looked.places() == Texts{"ConfigMap one, key a.yaml", "ConfigMap two, key a.yaml"});
  CHECK(looked.starters() == Texts{"Pod n/p, container c", "Pod n/p, container c"});
  const Looked both = look(maps + pod("p", kGeneric, "[{configMap: {name: two}}]") +
                           pod("q", "{name: d, image: generic-device-plugin, args: [--domain=a]}",
                               "[{projected: {sources: [{secret: {}}, {configMap: {name: one}}]}}]"));
  CHECK(both.starters() == Texts{"Pod n/q, container d", "Pod n/p, container c"});
  const Looked neither = look(maps + pod("p", kGeneric) +
                              pod("q", "{name: d, image: generic-device-plugin, args: [--domain=a]}"));
  CHECK(neither.starters() == Texts{"", ""});
}

TEST_CASE("a repeated configuration is found once") {
  CHECK(look(config_map("one", "a") + config_map("two", "a")).places() == Texts{"ConfigMap one, key a.yaml"});
  const std::string nvidia = "{name: c, image: nvidia/k8s-device-plugin}";
  CHECK(look(pod("p", nvidia) + pod("q", nvidia)).starters() == Texts{"Pod n/p, container c"});
}

TEST_CASE("the words of a container's command are split as by its shell, and its variables are replaced") {
  const Looked looked =
      look(pod("p",
               "{name: c, image: x, command: [/bin/sh, -ec, \"exec generic-device-plugin --device "
               "'a b'\"]}"));
  REQUIRE(looked.manifests.plugins.size() == 1);
  CHECK(looked.manifests.plugins[0].line.words == Texts{"exec", "generic-device-plugin", "--device", "a b"});
  const Looked expanded = look(pod(
      "p",
      "{name: c, image: generic-device-plugin, args: [--device, $(A)-$(B)-$(A], env: [{name: A, value: 1}, "
      "{name: C, valueFrom: {}}]}"));
  REQUIRE(expanded.manifests.plugins.size() == 1);
  CHECK(expanded.manifests.plugins[0].line.words == Texts{"--device", "1-$(B)-$(A"});
  CHECK(expanded.manifests.plugins[0].line.environment.at("C") == "");
}

TEST_CASE("init containers, and kubectl's copies in annotations, are ignored") {
  CHECK(look("apiVersion: v1\nkind: Pod\nmetadata: {annotations: {a: 'resourceList: []'}}\nspec: "
             "{initContainers: "
             "[{image: nvidia/k8s-device-plugin}]}\nstatus: {a: 'resourceList: []'}")
            .places()
            .empty());
}

TEST_CASE("a configuration in a text within a text is found at up to three levels") {
  const auto nested = [](int levels) {
    std::string text = "resourceList: []";
    for (int i = 0; i < levels; ++i) {
      std::string quoted;
      for (const char c : text) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      text = "a: {\"device\": \"" + quoted + "\\n\"}";
    }
    return look(text);
  };
  CHECK(nested(3).places() == Texts{"a.device.a.device.a.device"});
  CHECK(nested(4).places().empty());
}

TEST_CASE("an error in a ConfigMap's text names the ConfigMap, the key and the line") {
  const Looked looked =
      look("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  b: |\n    devices:\n    - [\n");
  REQUIRE(looked.errors.size() == 1);
  CHECK(looked.errors[0].starts_with("m.yaml (ConfigMap a, key b):2:"));
}

TEST_CASE(
    "equal plugins on different nodes become one for the nodes of both, and different plugins stay two") {
  const auto on = [](const std::string& label, const std::string& arguments) {
    return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + label + "}\nspec: {nodeSelector: {" + label +
           ": x}, volumes: [{configMap: {name: one}}], containers: [{name: c, image: generic-device-plugin, "
           "args: [" +
           arguments + "]}]}\n";
  };
  const Looked same = look(config_map("one", "a") + on("a", "") + on("b", ""));
  REQUIRE(same.manifests.plugins.size() == 1);
  CHECK(same.manifests.plugins[0].nodes.any_of.size() == 2);
  const Looked other =
      look(pod("p",
               "{name: c, image: nvidia/k8s-device-plugin, env: [{name: MIG_STRATEGY, value: "
               "single}]}") +
           pod("q", "{name: c, image: nvidia/k8s-device-plugin}"));
  CHECK(other.starters().size() == 2);
}

TEST_CASE("a container whose ConfigMap is missing is not converted, and the advice is to get the ConfigMap") {
  const std::string container =
      "{name: c, image: nvidia/k8s-device-plugin, env: [{name: CONFIG_FILE, value: /c/a.yaml}]}";
  const Looked looked = look(pod("p", container, "[{configMap: {name: m}}]"));
  CHECK(looked.starters().empty());
  REQUIRE(looked.manifests.advice.size() == 1);
  CHECK(looked.manifests.advice[0].text.find("kubectl get configmap -n n m -o yaml") != std::string::npos);
}

TEST_CASE("resource requests of pods are recorded") {
  CHECK(
      look(pod("p", "{name: c, resources: {limits: {a.b/c: 1}, requests: {cpu: 1}}}")).manifests.requested ==
      std::set<std::string>{"a.b/c", "cpu"});
}

TEST_CASE("an error in an object counts only if the object belongs to a plugin") {
  CHECK(look(pod("p", "{name: c, image: busybox, command: [sh, -c, \"echo it's on\"]}")).errors.empty());
  CHECK(look(pod("p", "{name: c, image: generic-device-plugin, command: [sh, -c, \"gdp it's on\"]}"))
            .errors.size() == 1);
  const std::string chart =
      "apiVersion: a/v1\nkind: A\nmetadata: {name: a}\nspec: {chart: C, valuesContent: 'a: [\n'}";
  CHECK(look(std::string(chart).replace(chart.find('C'), 1, "web")).errors.empty());
  CHECK_FALSE(look(std::string(chart).replace(chart.find('C'), 1, "amd-gpu")).errors.empty());
  CHECK(
      look("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: 'device: [\n'}").errors.empty());
}

TEST_CASE("if a plugin's configuration is not in the text, the advice is the command that prints it") {
  const Looked looked =
      look(pod("p", "{name: c, image: smarter-device-manager}", "[{configMap: {name: conf}}]"));
  CHECK(looked.places().empty());
  REQUIRE(looked.manifests.advice.size() == 1);
  CHECK(looked.manifests.advice[0].file == "m.yaml");
  CHECK(looked.manifests.advice[0].text ==
        "Pod n/p, container c runs smarter-device-manager, whose configuration is not in this text: `kubectl "
        "get "
        "configmap -n n conf -o yaml | plughost convert -`");
}

}  // namespace
}  // namespace plughost
