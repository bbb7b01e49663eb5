#include "tools/convert/manifests/manifests.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/document/yaml.hpp"
#include "base/text/text.hpp"
#include "tools/convert/manifests/charts.hpp"
#include "tools/convert/manifests/findings.hpp"
#include "tools/convert/manifests/read_files.hpp"
#include "tools/convert/manifests/running_plugin.hpp"
#include "tools/convert/manifests/sources.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// The maximum depth of YAML texts inside of YAML texts, as with a HelmRelease in a ConfigMap.
constexpr unsigned kDeepestText = 3;
// Limit for all nested texts together, in bytes, because aliases can repeat a text without end.
constexpr std::size_t kMostText = 4u << 20;

bool is_object(const Node& node) {
  return !text_at(node, "kind").empty() && !text_at(node, "apiVersion").empty();
}

// Example: "ConfigMap kube-system/gdp".
std::string title_of(const Node& object) {
  const std::string& space = text_at(at(object, "metadata"), "namespace");
  const std::string name = (space.empty() ? "" : space + '/') + text_at(at(object, "metadata"), "name");
  return text_at(object, "kind") + (name.empty() ? "" : ' ' + name);
}

// Returns "-n kube-system " for kubectl.
std::string in_namespace(const Node& object) {
  const std::string& space = text_at(at(object, "metadata"), "namespace");
  return space.empty() ? "" : "-n " + space + ' ';
}

// Returns true for a list `devices` of a plugin's configuration; manifests have other lists of that name.
bool has_groups(const Node& root) {
  return std::ranges::any_of(std::array{"devices", "device"}, [&](const char* key) {
    return std::ranges::any_of(at(root, key).items, [](const Node& item) { return item.find("groups"); });
  });
}

std::optional<OtherPlugin> plugin_inside(const Node& node) {
  const auto plugin = other_plugin(node);
  if (plugin == OtherPlugin::kGenericDevicePlugin && !has_groups(node)) return std::nullopt;
  return plugin;
}

// Returns true if the text could be or contain a configuration.
bool is_worth_reading(std::string_view text) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"devicematch", "resourceList", "configList", "device", "Device",
                                       "haring", "lags", "igStrategy", "resources", "version: v1"});
  const bool is_short = text.find_first_of("\n{[") == std::string_view::npos;
  if (is_short && text != "version: v1") return false;  // a complete configuration of NVIDIA's
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_ours(const Node& root) {
  return !at(root, "resources").items.empty() &&
         std::ranges::all_of(at(root, "resources").items, [](const Node& item) { return item.find("name"); });
}

class Search {
 public:
  // `documents` must outlive this object.
  Search(const std::vector<Node>& documents, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), sources_(documents, diagnostics) {}

  void document(const Node& root) {
    if (sources_.is_values(root)) return;
    Here here{.file = root.mark.file.text(), .config_map = sources_.generated_of(root)};
    if (const auto plugin = is_object(root) ? std::nullopt : other_plugin(root)) {
      add_pod(root, here);
      const bool is_started = (root.find("image") || root.find("env")) && container(root, here);
      return configuration(*plugin, root, is_started ? of_chart(here, "its chart") : here);
    }
    value(root, here);
  }

  Manifests take() { return findings_.take(diagnostics_); }

 private:
  static Here of_chart(Here here, const std::string& chart) {
    here.chart = chart;
    return here;
  }

  std::string file_place(const Node& node, const Here& here) const {
    return node.mark.file.text() + " (" + here.place() + ')';
  }

  void value(const Node& node, const Here& here) {
    switch (node.kind) {
      case Node::Kind::kNull:
        return;
      case Node::Kind::kScalar:
        return text(node, here);
      case Node::Kind::kSequence:
        if (const auto plugin = plugin_inside(node)) return configuration(*plugin, node, here);
        for (const Node& item : node.items) value(item, here);
        return;
      case Node::Kind::kMap:
        if (sources_.is_values(node)) return;
        if (is_object(node)) return object(node, here);
        return map(node, here);
    }
  }

  void map(const Node& node, Here here) {
    add_pod(node, here);
    container(node, here);
    chart(node, here);
    if (const auto akri = akri_configuration(node)) return configuration(OtherPlugin::kAkri, *akri, here);
    if (const auto plugin = plugin_inside(node)) return configuration(*plugin, node, here);
    members(node, here);
  }

  void object(const Node& object, const Here& outer) {
    const std::string kind = text_at(object, "kind");
    Here here = outer;
    if (kind.ends_with("List") && object.find("items")) {
      for (const Node& item : at(object, "items").items) value(item, here);
      return;
    }
    here.title = (outer.title.empty() ? "" : outer.place() + ": ") + title_of(object);
    here.keys.clear();
    here.from_where = in_namespace(object);
    findings_.add_object(here.title);
    if (const auto plugin = other_plugin(object)) return configuration(*plugin, object, here);
    look_elsewhere(object);
    if (kind == "ConfigMap") return config_map(object, here);
    auto found = plugin_of_object(object, file_place(object, here), diagnostics_);
    if (found) {
      here.nodes = both(here.nodes, found->nodes);
      if (found->plugin == OtherPlugin::kNvidia) here.from_where = "-n gpu-operator ";
      return start(*std::move(found), here.title, here);
    }
    add_pod(object, here);
    chart(object, here);
    members(object, here);
  }

  void config_map(const Node& object, const Here& outer) {
    Here here = outer;
    here.config_map = text_at(at(object, "metadata"), "name");
    for (const auto& [key, text] : at(object, "data").members) {
      here.map = here.title;
      here.key = key.scalar;
      here.keys = "key " + key.scalar;
      value(text, here);
    }
  }

  void members(const Node& node, const Here& here) {
    const bool object = is_object(node);
    generated(node, here);
    // `config` occurs in a chart's values and in a ClusterPolicy.
    const Node& config = at(node, "config");
    if (const Node* const choice = config.find("default"); choice && !choice->scalar.empty())
      findings_.set_default_choice(choice->scalar);
    for (const char* key : {"limits", "requests"}) {
      for (const auto& [resource, quantity] : at(at(node, "resources"), key).members)
        findings_.add_request(resource.scalar);
    }
    for (const auto& [key, member] : node.members) {
      // kubectl's annotations repeat the object; init containers do not run the plugin.
      if ((object && (key.scalar == "metadata" || key.scalar == "status")) || key.scalar == "initContainers")
        continue;
      value(member, here.below(key.scalar));
    }
  }

  // Kustomize generates ConfigMaps from files and from texts after '='.
  void generated(const Node& node, const Here& here) {
    for (const Node& generator : at(node, "configMapGenerator").items) {
      const std::string& name = text_at(generator, "name");
      Here inner = here.below("configMapGenerator");
      inner.config_map = name;
      for (const Node& literal : at(generator, "literals").items) {
        Node content = literal;
        content.scalar.erase(0, std::min(literal.scalar.find('='), literal.scalar.size() - 1) + 1);
        text(content, inner);
      }
      for (const Node& file : at(generator, "files").items)
        findings_.add_hint(
            "the ConfigMap " + name + " is made of the file " +
            file.scalar.substr(file.scalar.find('=') + 1) +
            ": `plughost convert` takes that, or `kubectl kustomize DIRECTORY | plughost convert -` "
            "all of it");
    }
  }

  void text(const Node& scalar, const Here& here) {
    if (here.texts >= kDeepestText || !is_worth_reading(scalar.scalar)) return;
    bytes_ += scalar.scalar.size();
    if (bytes_ > kMostText) return;
    Diagnostics own;
    const auto documents = parse_documents(scalar.scalar, file_place(scalar, here), own);
    // Texts that are not YAML are ignored, unless a ConfigMap's text has words of device plugins.
    if (!documents || own.has_errors()) {
      if (here.config_map.empty() || !has_word_of_plugins(scalar.scalar)) return;
      for (const Diagnostic& each : own.all()) diagnostics_.error(each.mark, each.path, each.what);
      return;
    }
    Here inner = here;
    ++inner.texts;
    if (here.key != "values" && here.key != "valuesContent") inner.chart.clear();
    for (const Node& root : *documents) {
      if (is_ours(root))
        findings_.add_advice(here.place() +
                             " is a configuration of plughost's own; `plughost check` reads it");
      if (root.kind == Node::Kind::kMap || root.kind == Node::Kind::kSequence) value(root, inner);
    }
  }

  // Returns true if the map is a container that runs NVIDIA's plugin; records any known plugin.
  bool container(const Node& node, const Here& here) {
    if (!here.chart.empty()) return false;  // the chart's plugin is known
    Diagnostics own;                        // discarded, since shell text of other programs may be invalid
    PluginCommand line = command_of(node, file_place(node, here), own);
    if (const auto choice = line.environment.find("DEFAULT_CONFIG"); choice != line.environment.end())
      findings_.set_default_choice(choice->second);
    std::string place = here.title;
    if (here.title.empty()) place = here.keys.empty() ? "the values" : here.keys;
    const std::string name = text_at(node, "name");
    if (!name.empty() && here.keys.ends_with("containers")) place += ", container " + name;
    const auto plugin = running_plugin(line);
    if (!plugin) {
      if (const std::string stranger = unknown_plugin(line); !stranger.empty())
        findings_.add_advice(place + " runs " + stranger + ", which plughost convert does not know");
      return false;
    }
    for (const Diagnostic& each : own.all()) diagnostics_.error(each.mark, each.path, each.what);
    if (const std::string domain = text_at(node, "deviceDomain"); !domain.empty())
      line.environment.emplace("DOMAIN", domain);
    findings_.add({.plugin = *plugin,
                   .place = std::move(place),
                   .file = here.file,
                   .line = std::move(line),
                   .config_maps = here.mounted,
                   .from_where = here.from_where,
                   .nodes = here.nodes});
    return *plugin == OtherPlugin::kNvidia;
  }

  // Handles a use of a chart.
  void chart(const Node& node, Here& here) {
    if (!here.chart.empty()) return;
    const ChartUse* const use = sources_.use_at(node);
    const auto own = use ? std::nullopt : used_chart(node, file_place(node, here), diagnostics_);
    if (!use && !own) {
      const std::string& path = text_at(node, "path");
      if (!path.empty() && node.find("repoURL"))
        findings_.add_hint(here.place() + " takes what is in the directory " + path + " of " +
                           text_at(node, "repoURL") + ": `plughost convert` takes that directory");
      return;
    }
    const UsedChart& used = use ? use->chart : *own;
    const std::string place = (here.place().empty() ? "" : here.place() + ", ") + "chart " + used.name;
    if (!is_known_chart(used.name))
      return findings_.add_hint(
          place +
          " is not known; what it makes of its values is in `helm get manifest RELEASE | plughost convert "
          "-`" +
          (used.files.empty() ? "" : ", and its values are in " + joined(used.files, ", ")));
    auto found = plugin_of_chart(used.name, used.values, file_place(node, here), diagnostics_);
    if (!found) return;
    for (const std::string& file : used.files)
      findings_.add_advice(
          place + " takes values from the file " + file +
          ", too, which is not here: give the directory, or `helm get manifest RELEASE | plughost "
          "convert -`");
    Here inner = here;
    add_pod(used.values, inner);
    here.chart = "the chart " + used.name;
    start(*std::move(found), place, inner);
    if (!use) return;
    inner.chart = here.chart;
    for (const Node* const values : use->others) {
      inner.file = values->mark.file.text();
      findings_.add_values(inner.file, place);
      is_object(*values) ? config_map(*values, inner) : members(*values, inner);
    }
  }

  void start(ChartPlugin found, const std::string& place, const Here& here) {
    if (!found.note.empty()) findings_.add_doubt(found.note);
    // Makes Arguments::complete() true: a chart passes only these settings, and defaults for all others.
    if (found.line.image.empty()) found.line.image = place;
    findings_.add({.plugin = found.plugin,
                   .place = place,
                   .file = here.file,
                   .line = std::move(found.line),
                   .config_maps = std::move(found.config_maps),
                   .from_where = here.from_where,
                   .nodes = here.nodes});
  }

  void configuration(OtherPlugin plugin, const Node& root, const Here& here) {
    if (plugin == OtherPlugin::kNvidia && !here.chart.empty()) {
      findings_.add_doubt((here.place().empty() ? "What stands in the values" : here.place()) +
                          " has settings of a configuration file, which " + here.chart +
                          " does not read there: it reads texts in `config.map`; they are left out");
      return;
    }
    // The nodes of an operator's object with its own selector.
    NodeChoice nodes = is_object(root) ? node_choice(at(root, "spec")) : NodeChoice();
    findings_.add({.found = {.plugin = plugin,
                             .place = here.place(),
                             .file = here.file,
                             .configuration = root,
                             .nodes = std::move(nodes)},
                   .config_map = here.config_map,
                   .key = here.key,
                   .map = here.map});
  }

  // Handles objects that only refer to a configuration.
  void look_elsewhere(const Node& object) {
    if (text_at(object, "apiVersion").starts_with("sriovnetwork.openshift.io/"))
      findings_.add_hint(title_of(object) +
                         " has no resources in it; the SR-IOV operator writes the plugin's file: " +
                         kubectl_get("-n sriov-network-operator ", "device-plugin-config"));
    for (const Node& from : at(at(object, "spec"), "valuesFrom").items) {
      const std::string& name = text_at(from, "name");
      if (text_at(from, "kind") == "ConfigMap" && !sources_.has_config_map(name))
        findings_.add_advice(title_of(object) + " takes values from the ConfigMap " + name + ": " +
                             kubectl_get(in_namespace(object), name));
    }
  }

  Diagnostics& diagnostics_;
  Sources sources_;
  std::size_t bytes_ = 0;
  Findings findings_;
};

}  // namespace

Manifests find_configurations(const std::vector<Node>& documents, Diagnostics& diagnostics) {
  Search search(documents, diagnostics);
  for (const Node& root : documents) search.document(root);
  return search.take();
}

}  // namespace plughost
