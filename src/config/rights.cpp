#include "config/rights.hpp"

#include <algorithm>
#include <string_view>

#include "assume/terms.hpp"
#include "config/selection.hpp"

namespace plughost {
namespace {

constexpr const char* kOurNode = "metadata.name={node}";
constexpr const char* kOurPods = "spec.nodeName={node}";
constexpr const char* kOurSlices = "spec.nodeName={node}";

class Rights {
 public:
  // That of a former key stays the only one of its kind.
  void add(Right right) {
    const auto same = std::ranges::find_if(all_, [&](const Right& other) {
      return other.verb == right.verb && other.group == right.group && other.resource == right.resource &&
             other.subresource == right.subresource;
    });
    if (same == all_.end())
      all_.push_back(std::move(right));
    else
      same->for_devices = same->for_devices || right.for_devices;
  }
  // Of our Node: what a NodeWatch does.
  void watch_node(const std::string& key) {
    for (const char* const verb : {"list", "watch"})
      add({.verb = verb,
           .resource = "nodes",
           .field_selector = kOurNode,
           .name = "{node}",
           .key = key,
           .for_devices = true});
  }
  std::vector<Right> take() && { return std::move(all_); }

 private:
  std::vector<Right> all_;
};

// Pools are published in slices, whose owner is the Node, and claims say who has which device.
void add_dra(Rights& rights) {
  const std::string key = "advertise";
  const Right slices{
      .group = "resource.k8s.io", .resource = "resourceslices", .key = key, .for_devices = true};
  for (const char* const verb : {"list", "watch"}) {
    Right right = slices;
    right.verb = verb;
    right.field_selector = kOurSlices;
    rights.add(std::move(right));
  }
  for (const char* const verb : {"create", "get", "update", "delete"}) {
    Right right = slices;
    right.verb = verb;
    right.of_own_objects = right.verb != "create";
    rights.add(std::move(right));
  }
  rights.add({.verb = "get",
              .group = slices.group,
              .resource = "resourceclaims",
              .key = key,
              .for_devices = true,
              .of_own_objects = true});
  rights.watch_node(key);
  // A count of 0 that a device plugin has left there is taken away.
  rights.add({.verb = "patch", .resource = "nodes", .subresource = "status", .name = "{node}", .key = key});
}

}  // namespace

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
  Rights rights;
  if (!config.api_server) return {};
  if (asks_for_node(config)) rights.watch_node("when");
  const bool counts = std::ranges::any_of(
      config.resources, [](const ResourceConfig& each) { return !each.node_resources.empty(); });
  if (counts) {
    const std::string key = "nodeResources";
    rights.watch_node(key);
    rights.add({.verb = "patch",
                .resource = "nodes",
                .subresource = "status",
                .name = "{node}",
                .key = key,
                .for_devices = true});
  }
  if (config.events) {
    rights.add({.verb = "create", .resource = "events", .key = "events"});
    // Whose uid an Event needs.
    rights.add({.verb = "list", .resource = "pods", .field_selector = kOurPods, .key = "events"});
  }
  const bool dra = std::ranges::any_of(
      config.resources, [](const ResourceConfig& each) { return each.recipe->dra != nullptr; });
  if (dra) add_dra(rights);
  for (const ResourceConfig& resource : config.resources) {
    if (const AssumeTerms* const assume = resource.recipe->assume.get()) {
      for (const char* const verb : {"list", "watch"})
        rights.add({.verb = verb,
                    .resource = "pods",
                    .field_selector = kOurPods,
                    .key = "assume",
                    .for_devices = true});
      rights.add({.verb = "patch",
                  .resource = "pods",
                  .subresource = "status",
                  .key = "assume",
                  .for_devices = true});
      if (assume->dialect == Dialect::kGpushare) rights.watch_node("assume");
    }
  }
  return std::move(rights).take();
}

}  // namespace plughost
