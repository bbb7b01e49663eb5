#include "tools/convert/manifests/findings.hpp"

#include <algorithm>

#include "base/text/text.hpp"
#include "tools/convert/peers/peers.hpp"

namespace plughost {
namespace {

template <typename Item>
void add_once(std::vector<Item>& to, Item item) {
  if (std::ranges::find(to, item) == to.end()) to.push_back(std::move(item));
}

// Returns true if two starters differ in nothing but their nodes and places.
bool is_alike(const FoundPlugin& one, const FoundPlugin& other) {
  return one.plugin == other.plugin && one.line.words == other.line.words &&
         one.line.environment == other.line.environment && one.config_maps == other.config_maps;
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

void Findings::add(FoundPlugin found) {
  const auto is_it = [&](const FoundPlugin& each) {
    return !each.configuration && is_alike(each, found) && each.nodes == found.nodes;
  };
  const bool known = found.configuration
                         ? !contents_.insert({found.plugin, content_of(*found.configuration)}).second
                         : std::ranges::any_of(found_, is_it);
  if (!known) found_.push_back(std::move(found));
}

void Findings::add_advice(const Here& here, std::string advice) {
  add_once(manifests_.advice, {.file = here.file, .text = std::move(advice)});
}

void Findings::add_hint(const Here& here, std::string hint) {
  add_once(manifests_.hints, {.file = here.file, .text = std::move(hint)});
}

void Findings::add_values(const std::string& file, const std::string& place) {
  manifests_.values.emplace_back(file, place);
}

void Findings::add_doubt(std::string doubt) { add_once(manifests_.doubts, std::move(doubt)); }

void Findings::add_requests(const Node& node) {
  // `config` occurs in a chart's values and in a ClusterPolicy.
  if (const std::string& choice = at_path(node, "config.default").scalar; !choice.empty())
    set_default_choice(choice);
  for (const char* list : {"resources.limits", "resources.requests"}) {
    for (const auto& [resource, quantity] : at_path(node, list).members)
      manifests_.requested.insert(resource.scalar);
  }
}

void Findings::leave_out_those_of_strangers() {
  for (const FoundPlugin& each : found_)
    if (!each.configuration)
      for (const std::string& name : each.config_maps) of_strangers_.erase(name);
  std::erase_if(found_, [this](const FoundPlugin& each) {
    return each.configuration && !each.config_maps.empty() &&
           of_strangers_.contains(each.config_maps.front());
  });
}

Manifests Findings::take() {
  leave_out_those_of_strangers();
  std::vector<const FoundPlugin*> used;
  for (const FoundPlugin& each : found_) {
    if (!each.configuration) continue;
    FoundPlugin configuration = each;
    record_choice(configuration);
    if (const FoundPlugin* const starter = starter_of(each)) {
      configuration.starter = starter->starter;
      configuration.starter_file = starter->file;
      configuration.line = starter->line;
      NodeChoice nodes = starter->nodes;
      for (const FoundPlugin& other : found_) {
        if (other.configuration || !is_alike(other, *starter)) continue;
        used.push_back(&other);
        if (&other != starter) nodes = either(nodes, other.nodes);
      }
      configuration.nodes = both(configuration.nodes, nodes);
    }
    manifests_.plugins.push_back(std::move(configuration));
  }
  for (const FoundPlugin& each : found_)
    if (!each.configuration && std::ranges::find(used, &each) == used.end()) add_starter(each);
  return std::move(manifests_);
}

void Findings::add_starter(const FoundPlugin& starter) {
  Diagnostics nobody_reads;  // the conversion reports them
  Arguments arguments(starter.line, "", nobody_reads);
  const bool reads_file = !arguments.values("config-file").empty() && !starter.config_maps.empty();
  const bool needs_none = peer_of(starter.plugin).find("withoutFile") && !reads_file;
  const std::string runs = starter.starter + " runs " + std::string(name_of(starter.plugin));
  if (needs_none || arguments.has("device"))
    manifests_.plugins.push_back(starter);
  else if (!starter.config_maps.empty())
    add_advice({.file = starter.file}, runs + ", whose configuration is not in this text: " +
                                           kubectl_get(starter.from_where, joined(starter.config_maps, " ")));
  else
    add_hint(
        {.file = starter.file},
        runs +
            ", and neither its command line nor a ConfigMap that it mounts says what it offers: the file is "
            "in its image or on the node; give that");
}

// Records the alternatives among which NVIDIA's plugin chooses by a label of its node.
void Findings::record_choice(FoundPlugin& configuration) const {
  if (configuration.plugin != OtherPlugin::kNvidia) return;
  for (const FoundPlugin& each : found_) {
    if (each.configuration && each.plugin == OtherPlugin::kNvidia && each.map == configuration.map &&
        each.key != configuration.key)
      configuration.other_choices.push_back(each.key);
  }
  configuration.is_default = configuration.key == default_choice_;
}

const FoundPlugin* Findings::starter_of(const FoundPlugin& configuration) const {
  const FoundPlugin* of_same_object = nullptr;
  std::vector<const FoundPlugin*> others;
  for (const FoundPlugin& starter : found_) {
    if (starter.configuration || starter.plugin != configuration.plugin) continue;
    if (!configuration.config_maps.empty() &&
        std::ranges::find(starter.config_maps, configuration.config_maps.front()) !=
            starter.config_maps.end())
      return &starter;
    if (!of_same_object && starter.file == configuration.file && starter.title == configuration.title)
      of_same_object = &starter;
    others.push_back(&starter);
  }
  return of_same_object ? of_same_object : others.size() == 1 ? others.front() : nullptr;
}

std::string kubectl_get(const std::string& from_where, const std::string& names) {
  return "`kubectl get configmap " + from_where + names + " -o yaml | plughost convert -`";
}

}  // namespace plughost
