#include "tools/convert/manifests/manifests.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/document/yaml.hpp"
#include "base/text/text.hpp"
#include "tools/convert/manifests/charts.hpp"
#include "tools/convert/manifests/findings.hpp"
#include "tools/convert/manifests/read_files.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// The maximum depth of YAML texts inside of YAML texts, as with a HelmRelease in a ConfigMap.
constexpr unsigned kDeepestText = 3;
// Limit for all nested texts together, in bytes, because aliases can repeat a text without end.
constexpr std::size_t kMostText = 4u << 20;

std::optional<OtherPlugin> plugin_inside(const Node& node) {
  const auto plugin = other_plugin(node);
  // Manifests have other lists `devices`.
  const auto has_groups = [&](const char* key) {
    return std::ranges::any_of(at(node, key).items, [](const Node& item) { return item.find("groups"); });
  };
  const bool is_generic = plugin == OtherPlugin::kGenericDevicePlugin;
  return is_generic && !has_groups("devices") && !has_groups("device") ? std::nullopt : plugin;
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

FoundPlugin found_here(OtherPlugin plugin, const Here& here) {
  return {.plugin = plugin,
          .title = here.title,
          .file = here.file,
          .config_maps = here.mounted,
          .from_where = here.from_where,
          .nodes = here.nodes};
}

std::string file_place(const Node& node, const Here& here) {
  return node.mark.file.text() + " (" + here.place() + ')';
}

// Returns "HelmRelease a/b, spec, ".
std::string prefix(const Here& here) { return here.place().empty() ? "" : here.place() + ", "; }

// Returns a chart's values without the keys that the plugin's own file cannot have.
Node settings_of(OtherPlugin plugin, Node values) {
  static constexpr auto kKeys = std::to_array<std::string_view>(
      {"devices", "device", "domain", "log-level", "listen", "plugin-directory"});
  if (plugin != OtherPlugin::kGenericDevicePlugin) return values;
  std::erase_if(values.members, [](const Node::Member& member) {
    return std::ranges::find(kKeys, member.first.scalar) == kKeys.end();
  });
  return values;
}

// Returns values of a known chart that stand alone, or below the chart's name as those of a dependency do.
std::optional<UsedChart> lone_values(const Node& node, const Here& here) {
  const Chart* chart = chart_named(here.key);
  if (chart && !may_be_values_of(*chart, node)) chart = nullptr;
  if (!chart && here.title.empty() && here.keys.empty()) chart = chart_of_values(node);
  if (!chart) return std::nullopt;
  return UsedChart{.name = (*chart)["name"], .values = node, .files = {}};
}

class Search {
 public:
  // `documents` must outlive this object.
  Search(const std::vector<Node>& documents, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), sources_(documents, diagnostics) {}

  void document(const Node& root) {
    const Here here{.file = root.mark.file.text(), .config_map = sources_.generated_of(root)};
    if (at(root, "sops").find("mac")) return encrypted(root, here);
    value(root, here);
  }

  Manifests take() {
    for (const std::string& doubt : sources_.doubts()) findings_.add_doubt(doubt);
    return findings_.take();
  }

 private:
  void value(const Node& node, const Here& here) {
    if (sources_.is_values(node)) return;
    if (node.kind == Node::Kind::kScalar) return text(node, here);
    if (node.kind == Node::Kind::kMap) return is_object(node) ? object(node, here) : map(node, here);
    if (const auto plugin = plugin_inside(node)) return configuration(*plugin, node, here);
    for (const Node& item : node.items) value(item, here);
  }

  void map(const Node& node, Here here) {
    add_pod(node, here);
    chart(node, here);
    const auto started = container(node, here);
    if (const Node* const akri = akri_values(node, here))
      return configuration(OtherPlugin::kAkri, *akri, here);
    const bool is_document = here.title.empty() && here.keys.empty();
    if (const auto plugin = is_document ? other_plugin(node) : plugin_inside(node)) {
      if (started == OtherPlugin::kNvidia) here.chart = "its chart";
      return configuration(*plugin, started == plugin ? settings_of(*plugin, node) : node, here);
    }
    members(node, here);
  }

  // Returns the configuration in the values of Akri's chart; nullptr if there is none, or if it is turned
  // off.
  const Node* akri_values(const Node& values, const Here& here) {
    const Node& udev = at(values, "udev");
    const Node* const found = udev.find("configuration") ? udev.find("configuration") : &udev;
    const bool is_there = text_at(*found, "enabled") == "true" &&
                          (at_path(*found, "discoveryDetails.udevRules").kind == Node::Kind::kSequence ||
                           at(*found, "udevRules").kind == Node::Kind::kSequence);
    if (!is_there) return nullptr;
    for (const char* handler : {"custom", "debugEcho", "onvif", "opcua"}) {
      if (at_path(values, std::string(handler) + ".configuration.enabled").scalar == "true")
        findings_.add_advice(here, prefix(here) + "values of Akri's chart: the discovery handler " + handler +
                                       " has no counterpart in plughost");
    }
    return found;
  }

  // Handles a document that SOPS has encrypted: its keys can be read, and its values cannot.
  void encrypted(const Node& root, const Here& here) {
    const bool matters =
        other_plugin(root) || chart_of_values(root) || text_at(root, "kind") == "HelmRelease";
    const std::string advice = "this is encrypted by SOPS; `sops --decrypt FILE | plughost convert -`";
    matters ? findings_.add_advice(here, advice) : findings_.add_hint(here, advice);
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
    if (kind == "CustomResourceDefinition") return;  // its schema has the keys of configurations
    if (const auto plugin = other_plugin(object)) return configuration(*plugin, object, here);
    if (kind == "ConfigMap") return config_map(object, here);
    if (const Chart* const chart = chart_of_object(object)) {
      add_pod(at(object, "spec"), here);
      start(*chart, at(object, "spec"), here.title, here);
      return;
    }
    const std::size_t before = findings_.size();
    add_pod(object, here);
    chart(object, here);
    members(object, here);
    look_elsewhere(object, here, findings_.size() > before);
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
    findings_.add_requests(node);
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
            here,
            "the ConfigMap " + name + " is made of the file " +
                file.scalar.substr(file.scalar.find('=') + 1) +
                ": `plughost convert` takes that, or `kubectl kustomize DIRECTORY | plughost convert -` "
                "all of it");
    }
  }

  void text(const Node& scalar, const Here& here) {
    const bool is_script =
        scalar.scalar.starts_with("#!") || here.key.ends_with(".sh") || here.key.ends_with(".py");
    if (here.texts >= kDeepestText || is_script || !is_worth_reading(scalar.scalar)) return;
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
        findings_.add_advice(
            here, here.place() + " is a configuration of plughost's own; `plughost check` reads it");
      if (root.kind == Node::Kind::kMap || root.kind == Node::Kind::kSequence) value(root, inner);
    }
  }

  // Returns the plugin that the map runs if it is a container.
  std::optional<OtherPlugin> container(const Node& node, const Here& here) {
    if (!here.chart.empty()) return std::nullopt;  // the chart's plugin is known
    Diagnostics own;  // discarded, since shell text of other programs may be invalid
    PluginCommand line = command_of(node, file_place(node, here), own);
    if (const auto choice = line.environment.find("DEFAULT_CONFIG"); choice != line.environment.end())
      findings_.set_default_choice(choice->second);
    std::string place = here.title;
    if (here.title.empty()) place = here.keys.empty() ? "the container of these values" : here.keys;
    if (!line.container.empty() && here.keys.ends_with("containers"))
      place += ", container " + line.container;
    const auto plugin = running_plugin(line);
    if (!plugin) {
      if (const std::string stranger = unknown_plugin(line); !stranger.empty()) {
        findings_.add_advice(here, place + " runs " + stranger + ", which plughost convert does not know");
        findings_.add_stranger(here);
      }
      return std::nullopt;
    }
    for (const Diagnostic& each : own.all()) diagnostics_.error(each.mark, each.path, each.what);
    if (const std::string domain = text_at(node, "deviceDomain"); !domain.empty())
      line.environment.emplace("DOMAIN", domain);
    if (plugin == OtherPlugin::kNvidia) add_values(*chart_named("nvidia-device-plugin"), node, line);
    FoundPlugin found = found_here(*plugin, here);
    found.starter = std::move(place);
    found.line = std::move(line);
    findings_.add(std::move(found));
    return plugin;
  }

  void chart(const Node& node, Here& here) {
    if (!here.chart.empty()) return;
    const ChartUse* const use = sources_.use_at(node);
    auto own =
        use ? std::nullopt : used_chart(node, file_place(node, here), sources_.repositories(), diagnostics_);
    if (!use && !own) own = lone_values(node, here);
    if (!use && !own) return directory(node, here);
    const UsedChart& used = use ? use->chart : *own;
    const std::string place = prefix(here) + "chart " + used.name;
    const Chart* const known = chart_named(used.name);
    if (!known) return unknown_chart(used, place, here);
    here.chart = "the chart " + used.name;
    if (used.unreadable || (use && use->is_repeated)) return;
    Here inner = here;
    add_pod(used.values, inner);
    if (!start(*known, used.values, place, inner)) return;
    for (const std::string& file : used.files)
      findings_.add_advice(
          here, place + " takes values from the file " + file +
                    ", too, which is not here: give the directory, or `helm get manifest RELEASE | plughost "
                    "convert -`");
    if (!use) return;
    for (const Node* const values : use->others) {
      inner.file = values->mark.file.text();
      findings_.add_values(inner.file, place);
      is_object(*values) ? config_map(*values, inner) : members(*values, inner);
    }
  }

  void unknown_chart(const UsedChart& used, const std::string& place, const Here& here) {
    const auto has = [&](const char* word) { return used.name.find(word) != std::string::npos; };
    if (!has("device") && !has("gpu") && !has("plugin")) return;
    findings_.add_hint(
        here,
        place +
            " is not known; what it makes of its values is in `helm get manifest RELEASE | plughost convert "
            "-`" +
            (used.files.empty() ? "" : ", and its values are in " + joined(used.files, ", ")));
  }

  // Handles the directory that an object of Argo CD or Flux refers to.
  void directory(const Node& node, const Here& here) {
    const std::string& path = text_at(node, "path");
    const std::string& repository = text_at(node, "repoURL");
    const bool of_flux = node.find("sourceRef") && node.find("prune");
    if (path.empty() || (repository.empty() && !of_flux) || sources_.has_several_files()) return;
    findings_.add_hint(here, here.place() + " takes what is in the directory " + path + " of " +
                                 (of_flux ? "its repository" : repository) +
                                 ": `plughost convert` takes that directory");
  }

  // Handles what a chart, or an operator for its object, starts. Returns false if the values turn it off.
  bool start(const Chart& chart, const Node& values, const std::string& place, const Here& here) {
    auto found = started_by(chart, values, file_place(values, here), diagnostics_);
    if (!found) {
      findings_.add_hint(here, place + " does not run " + std::string(name_of(chart.plugin)) + ": its `" +
                                   chart["enabled"] + "` is false");
      return false;
    }
    if (!chart["note"].empty()) findings_.add_doubt(chart["note"]);
    FoundPlugin starter = found_here(chart.plugin, here);
    starter.starter = place;
    starter.line = std::move(found->line);
    // Makes Arguments::complete() true: a chart passes only these settings, and defaults for all others.
    if (starter.line.image.empty()) starter.line.image = place;
    starter.config_maps = std::move(found->config_maps);
    if (!chart["namespace"].empty()) starter.from_where = "-n " + chart["namespace"] + ' ';
    starter.nodes = both(here.nodes, found->nodes);
    findings_.add(std::move(starter));
    return true;
  }

  void configuration(OtherPlugin plugin, const Node& root, const Here& here) {
    if (plugin == OtherPlugin::kNvidia && !here.chart.empty()) {
      findings_.add_doubt((here.place().empty() ? "What stands in the values" : here.place()) +
                          " has settings of a configuration file, which " + here.chart +
                          " does not read there: it reads texts in `config.map`; they are left out");
      return;
    }
    FoundPlugin found = found_here(plugin, here);
    found.place = here.place();
    found.configuration = root;
    found.config_maps.clear();
    if (!here.config_map.empty()) found.config_maps = {here.config_map};
    // The nodes of an operator's object with its own selector.
    found.nodes = is_object(root) ? node_choice(at(root, "spec")) : NodeChoice();
    found.key = here.key;
    found.map = here.map;
    findings_.add(std::move(found));
  }

  // Handles objects that only refer to a configuration. `of_plugin` is true for an object of a known plugin.
  void look_elsewhere(const Node& object, const Here& here, bool of_plugin) {
    if (text_at(object, "apiVersion").starts_with("sriovnetwork.openshift.io/"))
      findings_.add_hint(here, here.title +
                                   " has no resources in it; the SR-IOV operator writes the plugin's file: " +
                                   kubectl_get("-n sriov-network-operator ", "device-plugin-config"));
    for (const Node& from : at(at(object, "spec"), "valuesFrom").items) {
      const std::string& name = text_at(from, "name");
      if (of_plugin && text_at(from, "kind") == "ConfigMap" && !sources_.has_config_map(name))
        findings_.add_advice(here, here.title + " takes values from the ConfigMap " + name + ": " +
                                       kubectl_get(here.from_where, name));
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
