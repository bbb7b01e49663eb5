#include "config/rights.hpp"

#include <algorithm>

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
  const bool counts = std::ranges::any_of(
      config.resources, [](const ResourceConfig& each) { return !each.node_resources.empty(); });
  if (!config.api_server || !counts) return {};
  std::vector<Right> rights;
  const std::string key = "nodeResources";
  for (const char* const verb : {"list", "watch"})
    rights.push_back({.verb = verb,
                      .resource = "nodes",
                      .field_selector = "metadata.name={node}",
                      .name = "{node}",
                      .key = key});
  rights.push_back(
      {.verb = "patch", .resource = "nodes", .subresource = "status", .name = "{node}", .key = key});
  return rights;
}

}  // namespace plughost
