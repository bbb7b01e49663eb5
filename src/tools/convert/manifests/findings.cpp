#include "tools/convert/manifests/findings.hpp"

#include <algorithm>
#include <utility>

#include "base/text/text.hpp"
#include "tools/convert/manifests/running_plugin.hpp"

namespace plughost {
namespace {

void add_once(std::vector<std::string>& to, std::string text) {
  if (std::ranges::find(to, text) == to.end()) to.push_back(std::move(text));
}

}  // namespace

void add_pod(const Node& node, Here& here) {
  if (const auto& volumes = at(node, "volumes").items; !volumes.empty()) {
    here.mounted.clear();
    const auto mount = [&](const Node& source) {
      const Node* const map = source.find("configMap");
      if (map) here.mounted.push_back(text_at(*map, "name"));
    };
    for (const Node& volume : volumes) {
      mount(volume);
      std::ranges::for_each(at(at(volume, "projected"), "sources").items, mount);
    }
  }
  for (const auto& [name, volume] : at(node, "persistence").members) {
    if (text_at(volume, "type") == "configMap") here.mounted.push_back(text_at(volume, "name"));
    if (const Node* const map = at(volume, "volumeSpec").find("configMap"))
      here.mounted.push_back(text_at(*map, "name"));
  }
  for (const Node* const pod : {&node, &at(node, "pod"), &at(node, "defaultPodOptions")})
    here.nodes = both(here.nodes, node_choice(*pod));
}

void Findings::add(Starter starter) {
  const bool known = std::ranges::any_of(starters_, [&](const Starter& each) {
    return each.plugin == starter.plugin && each.line.words == starter.line.words &&
           each.line.environment == starter.line.environment && each.config_maps == starter.config_maps &&
           each.nodes == starter.nodes;
  });
  if (!known) starters_.push_back(std::move(starter));
}

void Findings::add(FoundConfiguration configuration) {
  const std::string content = content_of(*configuration.found.configuration);
  const bool known = std::ranges::any_of(configurations_, [&](const FoundConfiguration& each) {
    return each.found.plugin == configuration.found.plugin &&
           content_of(*each.found.configuration) == content;
  });
  if (!known) configurations_.push_back(std::move(configuration));
}

void Findings::add_advice(std::string advice) { add_once(manifests_.advice, std::move(advice)); }

void Findings::add_hint(std::string hint) { add_once(manifests_.hints, std::move(hint)); }

void Findings::add_values(const std::string& file, const std::string& place) {
  manifests_.values.emplace_back(file, place);
}

void Findings::add_doubt(std::string doubt) { add_once(manifests_.doubts, std::move(doubt)); }

Manifests Findings::take(Diagnostics& diagnostics) {
  for (FoundConfiguration& each : configurations_) {
    record_choice(each);
    if (Starter* const starter = starter_of(each)) {
      each.found.starter = starter->place;
      each.found.starter_file = starter->file;
      each.found.line = starter->line;
      each.found.nodes = both(each.found.nodes, nodes_of_all_like(*starter));
    }
    manifests_.plugins.push_back(std::move(each.found));
  }
  for (const Starter& starter : starters_) {
    if (starter.used) continue;
    Arguments arguments(starter.line, "", diagnostics);
    const bool reads_file = !arguments.values("config-file").empty() && !starter.config_maps.empty();
    if ((runs_without_file(starter.plugin) && !reads_file) || arguments.has("device"))
      manifests_.plugins.push_back({.plugin = starter.plugin,
                                    .file = starter.file,
                                    .starter = starter.place,
                                    .starter_file = starter.file,
                                    .line = starter.line,
                                    .nodes = starter.nodes});
    else if (!starter.config_maps.empty())
      add_advice(starter.place + " runs " + std::string(name_of(starter.plugin)) +
                 ", whose configuration is not in this text: " +
                 kubectl_get(starter.from_where, joined(starter.config_maps, " ")));
    else
      add_hint(starter.place + " runs " + std::string(name_of(starter.plugin)) +
               ", and neither its command line nor a ConfigMap that it mounts says what it offers: the file "
               "is in its "
               "image or on the node; give that");
  }
  return std::move(manifests_);
}

// Returns the nodes of `one` and of all starters that differ only in their nodes. Marks these as used.
NodeChoice Findings::nodes_of_all_like(const Starter& one) {
  NodeChoice nodes = one.nodes;
  for (Starter& starter : starters_) {
    if (starter.plugin != one.plugin || starter.line.words != one.line.words ||
        starter.line.environment != one.line.environment || starter.config_maps != one.config_maps)
      continue;
    starter.used = true;
    if (&starter != &one) nodes = either(nodes, starter.nodes);
  }
  return nodes;
}

// Records the alternatives among which NVIDIA's plugin chooses by a label of its node.
void Findings::record_choice(FoundConfiguration& configuration) const {
  if (configuration.found.plugin != OtherPlugin::kNvidia) return;
  for (const FoundConfiguration& each : configurations_) {
    if (each.found.plugin == OtherPlugin::kNvidia && each.map == configuration.map &&
        each.key != configuration.key)
      configuration.found.other_choices.push_back(each.key);
  }
  if (configuration.found.other_choices.empty()) return;
  configuration.found.choice = configuration.key;
  configuration.found.is_default = configuration.key == default_choice_;
}

Starter* Findings::starter_of(const FoundConfiguration& configuration) {
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

std::string kubectl_get(const std::string& from_where, const std::string& names) {
  return "`kubectl get configmap " + from_where + names + " -o yaml | plughost convert -`";
}

}  // namespace plughost
