#include "config/rights.hpp"

#include <algorithm>

#include "config/selection.hpp"

namespace plughost {

std::string Right::text() const {
  std::string text = verb + ' ' + resource;
  if (!group.empty()) text += '.' + group;
  if (!subresource.empty()) text += '/' + subresource;
  if (!field_selector.empty())
    text += ", where " + field_selector;
  else if (!name.empty())
    text += ' ' + name;
  return text;
}

std::vector<Right> rights_of(const Config& config) {
  std::vector<Right> rights;
  const auto watch_node = [&rights](const std::string& key) {
    for (const char* const verb : {"list", "watch"})
      rights.push_back({.verb = verb,
                        .resource = "nodes",
                        .field_selector = "metadata.name={node}",
                        .name = "{node}",
                        .key = key});
  };
  const bool counts = config.api_server && std::ranges::any_of(config.resources, [](const auto& each) {
                        return !each.node_resources.empty();
                      });
  const auto assumes = [&config](auto what) {
    return config.api_server && std::ranges::any_of(config.resources, [&](const ResourceConfig& each) {
             return each.recipe->assume && what(*each.recipe->assume);
           });
  };
  const bool assumed = assumes([](const AssumeTerms&) { return true; });
  if (asks_for_node(config))
    watch_node("when");
  else if (counts)
    watch_node("nodeResources");
  else if (assumes([](const AssumeTerms& terms) { return terms.dialect == Dialect::kGpushare; }))
    watch_node("assume");
  if (counts)
    rights.push_back({.verb = "patch",
                      .resource = "nodes",
                      .subresource = "status",
                      .name = "{node}",
                      .key = "nodeResources"});
  const auto our_pods = [&rights](const std::string& verb, const std::string& key) {
    rights.push_back(
        {.verb = verb, .resource = "pods", .field_selector = "spec.nodeName={node}", .key = key});
  };
  if (assumed) {
    our_pods("list", "assume");
    our_pods("watch", "assume");
    rights.push_back({.verb = "patch", .resource = "pods", .subresource = "status", .key = "assume"});
  }
  if (config.events) {
    rights.push_back({.verb = "create", .resource = "events", .key = "events"});
    // An Event on a pod has its uid.
    if (!assumed) our_pods("list", "events");
  }
  return rights;
}

}  // namespace plughost
