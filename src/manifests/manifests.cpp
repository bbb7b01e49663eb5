#include "manifests/manifests.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "document/yaml.hpp"
#include "manifests/running_plugin.hpp"
#include "text/text.hpp"
#include "text/words.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// A text in a text in a text, as with a HelmRelease in a ConfigMap.
constexpr unsigned kDeepestText = 3;
// All texts inside of texts together: aliases can repeat one without end.
constexpr std::size_t kMostText = 4u << 20;

// An empty one where there is none.
const Node& at(const Node& map, std::string_view key) { return or_nothing(map.find(key)); }

const std::string& text_at(const Node& map, std::string_view key) { return at(map, key).scalar; }

bool is_object(const Node& node) {
  return !text_at(node, "kind").empty() && !text_at(node, "apiVersion").empty();
}

// "ConfigMap kube-system/gdp"
std::string title_of(const Node& object) {
  const std::string& space = text_at(at(object, "metadata"), "namespace");
  const std::string name = (space.empty() ? "" : space + '/') + text_at(at(object, "metadata"), "name");
  return text_at(object, "kind") + (name.empty() ? "" : ' ' + name);
}

// "-n kube-system " for kubectl.
std::string in_namespace(const Node& object) {
  const std::string& space = text_at(at(object, "metadata"), "namespace");
  return space.empty() ? "" : "-n " + space + ' ';
}

// How to get what is in ConfigMaps.
std::string get_of(const std::string& from_where, const std::string& names) {
  return "`kubectl get configmap " + from_where + names + " -o yaml | plughost convert -`";
}

// In a manifest many things have a list `devices`.
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

// Could the text be, or hold, somebody's configuration?
bool is_worth_reading(std::string_view text) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"devicematch", "resourceList", "configList", "device", "Device",
                                       "haring", "lags", "igStrategy", "resources"});
  if (text.find_first_of("\n{[") == std::string_view::npos) return false;
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_ours(const Node& root) {
  return !at(root, "resources").items.empty() &&
         std::ranges::all_of(at(root, "resources").items, [](const Node& item) { return item.find("name"); });
}

class Search {
 public:
  explicit Search(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void document(const Node& root, const std::string& place) {
    Here here;
    here.title = place;
    if (const auto plugin = is_object(root) ? std::nullopt : other_plugin(root)) {
      if (root.find("image") || root.find("env")) container(root, here);
      return add(*plugin, root, here);
    }
    value(root, here);
  }

  Manifests take() {
    for (Configuration& each : configurations_) {
      note_choice(each);
      if (Starter* const starter = starter_of(each)) {
        starter->used = true;
        each.found.starter = starter->place;
        each.found.line = starter->line;
      }
      manifests_.plugins.push_back(std::move(each.found));
    }
    for (const Starter& starter : starters_) {
      if (starter.used) continue;
      const Arguments arguments(starter.line, "", diagnostics_);
      if (runs_without_file(starter.plugin) || arguments.has("device"))
        manifests_.plugins.push_back(
            {.plugin = starter.plugin, .starter = starter.place, .line = starter.line});
      else
        advise(starter);
    }
    return std::move(manifests_);
  }

 private:
  // What runs a plugin.
  struct Starter {
    OtherPlugin plugin = OtherPlugin::kGenericDevicePlugin;
    std::string place;
    PluginCommand line;
    Texts config_maps;       // that its pod mounts
    std::string from_where;  // "-n kube-system " for kubectl
    bool used = false;
  };
  // A configuration, and the ConfigMap that it is from.
  struct Configuration {
    FoundPlugin found;
    std::string config_map;
    // Of a map of configurations: which of its keys, and which map.
    std::string key;
    std::string map;
  };
  // Where the search is.
  struct Here {
    std::string title;       // of the object; empty: in none
    std::string keys;        // "spec.values"
    std::string config_map;  // the name of the one that this is in
    std::string key;         // the last of keys
    std::string map;         // and what it is a key of
    std::string from_where;
    Texts mounted;  // names of the ConfigMaps that this pod mounts
    unsigned texts = 0;

    std::string place() const {
      if (title.empty() || keys.empty()) return title + keys;
      return title + ", " + keys;
    }
    Here below(const std::string& member) const {
      Here inner = *this;
      inner.map = place();
      inner.keys += (keys.empty() ? "" : ".") + member;
      inner.key = member;
      return inner;
    }
  };

  void value(const Node& node, const Here& here) {
    switch (node.kind) {
      case Node::Kind::kNull:
        return;
      case Node::Kind::kScalar:
        return text(node, here);
      case Node::Kind::kSequence:
        if (const auto plugin = plugin_inside(node)) return add(*plugin, node, here);
        for (const Node& item : node.items) value(item, here);
        return;
      case Node::Kind::kMap:
        if (is_object(node)) return object(node, here);
        container(node, here);
        if (const auto plugin = plugin_inside(node)) return add(*plugin, node, here);
        return members(node, here);
    }
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
    manifests_.objects.push_back(here.title);
    if (const auto plugin = other_plugin(object)) return add(*plugin, object, here);
    look_elsewhere(object);
    if (kind == "ConfigMap") {
      here.config_map = text_at(at(object, "metadata"), "name");
      for (const auto& [key, text] : at(object, "data").members) {
        here.map = here.title;
        here.key = key.scalar;
        here.keys = "key " + key.scalar;
        value(text, here);
      }
      return;
    }
    if (kind == "GpuDevicePlugin") {
      static constexpr Word<std::string_view> kFlags[] = {{"sharedDevNum", "shared-dev-num"},
                                                          {"preferredAllocationPolicy", "allocation-policy"},
                                                          {"enableMonitoring", "enable_monitoring"}};
      Starter starter{.plugin = OtherPlugin::kIntelGpu, .place = here.title};
      for (const auto& [key, value] : at(object, "spec").members) {
        if (const auto flag = value_of(kFlags, key.scalar))
          starter.line.words.push_back("--" + std::string(*flag) + '=' + value.scalar);
      }
      return add(std::move(starter));
    }
    members(object, here);
  }

  void members(const Node& node, const Here& here) {
    Here inner = here;
    if (const auto& volumes = at(node, "volumes").items; !volumes.empty()) {
      inner.mounted.clear();
      const auto mount = [&](const Node& source) {
        const Node* const map = source.find("configMap");
        if (map) inner.mounted.push_back(text_at(*map, "name"));
      };
      for (const Node& volume : volumes) {
        mount(volume);
        std::ranges::for_each(at(at(volume, "projected"), "sources").items, mount);
      }
    }
    const bool object = is_object(node);
    // Of a chart's values, and of a ClusterPolicy's.
    const Node& config = at(node, "config");
    if (const Node* const choice = config.find("default"); choice && !choice->scalar.empty())
      default_choice_ = choice->scalar;
    for (const auto& [key, member] : node.members) {
      // kubectl's annotations repeat the whole object; what prepares a pod is no plugin.
      if ((object && (key.scalar == "metadata" || key.scalar == "status")) || key.scalar == "initContainers")
        continue;
      value(member, inner.below(key.scalar));
    }
  }

  void text(const Node& scalar, const Here& here) {
    if (here.texts >= kDeepestText || !is_worth_reading(scalar.scalar)) return;
    bytes_ += scalar.scalar.size();
    if (bytes_ > kMostText) return;
    Diagnostics own;
    const std::string name = scalar.mark.file.text() + " (" + here.place() + ')';
    const auto documents = parse_documents(scalar.scalar, name, own);
    if (!documents) {
      if (here.config_map.empty()) return;  // it need not be YAML at all
      for (const Diagnostic& each : own.all()) diagnostics_.error(each.mark, each.path, each.what);
      return;
    }
    Here inner = here;
    ++inner.texts;
    for (const Node& root : *documents) {
      if (is_ours(root))
        manifests_.advice.push_back(here.place() +
                                    " is a configuration of plughost's own; `plughost check` reads it");
      if (root.kind == Node::Kind::kMap || root.kind == Node::Kind::kSequence) value(root, inner);
    }
  }

  void container(const Node& node, const Here& here) {
    PluginCommand line = command_of(node, node.mark.file.text() + " (" + here.place() + ')', diagnostics_);
    if (const auto choice = line.environment.find("DEFAULT_CONFIG"); choice != line.environment.end())
      default_choice_ = choice->second;
    const auto plugin = running_plugin(line);
    if (!plugin) return;
    if (const std::string domain = text_at(node, "deviceDomain"); !domain.empty())
      line.environment.emplace("DOMAIN", domain);
    const std::string name = text_at(node, "name");
    Starter starter{.plugin = *plugin, .place = here.title, .line = std::move(line)};
    if (here.title.empty()) starter.place = here.keys.empty() ? "the values" : here.keys;
    if (!name.empty() && here.keys.ends_with("containers")) starter.place += ", container " + name;
    starter.config_maps = here.mounted;
    starter.from_where = here.from_where;
    add(std::move(starter));
  }

  void add(OtherPlugin plugin, const Node& root, const Here& here) {
    const std::string content = content_of(root);
    const bool known = std::ranges::any_of(configurations_, [&](const Configuration& each) {
      return each.found.plugin == plugin && content_of(*each.found.configuration) == content;
    });
    if (!known)
      configurations_.push_back({{.plugin = plugin, .place = here.place(), .configuration = root},
                                 here.config_map,
                                 here.key,
                                 here.map});
  }

  // NVIDIA's plugin takes one of several by a label of its node.
  void note_choice(Configuration& configuration) const {
    if (configuration.found.plugin != OtherPlugin::kNvidia) return;
    for (const Configuration& each : configurations_) {
      if (each.found.plugin == OtherPlugin::kNvidia && each.map == configuration.map &&
          each.key != configuration.key)
        configuration.found.other_choices.push_back(each.key);
    }
    if (configuration.found.other_choices.empty()) return;
    configuration.found.choice = configuration.key;
    configuration.found.is_default = configuration.key == default_choice_;
  }

  // A DaemonSet, its pods and its revisions start the same.
  void add(Starter starter) {
    const bool known = std::ranges::any_of(starters_, [&](const Starter& each) {
      return each.plugin == starter.plugin && each.line.words == starter.line.words &&
             each.config_maps == starter.config_maps;
    });
    if (!known) starters_.push_back(std::move(starter));
  }

  // Objects that only say where a configuration is.
  void look_elsewhere(const Node& object) {
    const Node& spec = at(object, "spec");
    const std::string& of_policy = text_at(at(at(spec, "devicePlugin"), "config"), "name");
    if (text_at(object, "kind") == "ClusterPolicy" && !of_policy.empty())
      manifests_.advice.push_back(title_of(object) +
                                  " takes the device plugin's configuration from the ConfigMap " + of_policy +
                                  " in the operator's namespace: " + get_of("-n gpu-operator ", of_policy));
    for (const Node& from : at(spec, "valuesFrom").items) {
      const std::string& name = text_at(from, "name");
      if (text_at(from, "kind") == "ConfigMap")
        manifests_.advice.push_back(title_of(object) + " takes values from the ConfigMap " + name + ": " +
                                    get_of(in_namespace(object), name));
    }
  }

  Starter* starter_of(const Configuration& configuration) {
    std::vector<Starter*> mounting;
    std::vector<Starter*> others;
    for (Starter& starter : starters_) {
      if (starter.plugin != configuration.found.plugin) continue;
      const bool mounts =
          !configuration.config_map.empty() &&
          std::ranges::find(starter.config_maps, configuration.config_map) != starter.config_maps.end();
      (mounts ? mounting : others).push_back(&starter);
    }
    if (!mounting.empty()) return mounting.front();
    return others.size() == 1 ? others.front() : nullptr;
  }

  void advise(const Starter& starter) {
    if (starter.config_maps.empty()) return;
    manifests_.advice.push_back(starter.place + " runs " + std::string(name_of(starter.plugin)) +
                                ", whose configuration is not in this text: " +
                                get_of(starter.from_where, joined(starter.config_maps, " ")));
  }

  Diagnostics& diagnostics_;
  std::size_t bytes_ = 0;
  std::string default_choice_ = "default";  // as theirs takes it where nobody names one
  std::vector<Configuration> configurations_;
  std::vector<Starter> starters_;
  Manifests manifests_;
};

}  // namespace

Manifests look_through(const std::vector<Node>& documents, Diagnostics& diagnostics) {
  Search search(diagnostics);
  for (const Node& root : documents) search.document(root, "");
  return search.take();
}

}  // namespace plughost
