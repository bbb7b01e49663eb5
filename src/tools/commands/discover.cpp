// plughost discover: prints what each resource would advertise now.

#include <algorithm>
#include <iostream>
#include <stdexcept>

#include "base/document/diagnostics.hpp"
#include "base/text/text.hpp"
#include "config/config.hpp"
#include "model/allocate/allocation.hpp"
#include "model/allocate/allocation_text.hpp"
#include "model/allocate/cdi.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {
namespace {

std::string paths_of(const Device& device) {
  std::string text;
  for (const DeviceNode& node : device.nodes) text += (text.empty() ? "" : " ") + node.host_path;
  for (const Mount& mount : device.mounts) text += (text.empty() ? "" : " ") + mount.host_path;
  return text;
}

// Returns why the resource has no devices, from all of its entries.
std::string why_no_devices(const Survey& found, const std::string& resource) {
  std::vector<std::string> reasons;
  for (const SurveyedEntry& entry : found.entries) {
    if (!entry.resources.contains(resource) && entry.name != resource) continue;
    const std::string why = entry.error.empty() ? entry.why_no_devices() : entry.error;
    if (!why.empty()) reasons.push_back(why);
  }
  return joined(reasons, "; ");
}

// Returns the columns that -o wide has more: the environment variables, and the attributes.
TableRow more_of(const Device& device) {
  std::vector<std::string> env, attributes;
  for (const Variable& variable : device.env) env.push_back(variable.name.pattern() + '=' + variable.value);
  for (const Attribute& attribute : device.attributes)
    attributes.push_back(attribute.name + '=' + attribute.value);
  return {joined(env, " "), joined(attributes, " ")};
}

void print_names(const Survey& found) {
  for (const ResourceSnapshot& snapshot : found.snapshots)
    for (const Device& device : snapshot.inventory.devices())
      std::cout << snapshot.resource << '=' << device.id << '\n';
}

void print_offers(const Survey& found, bool wide) {
  TableRow head{"RESOURCE", "DEVICE", "HEALTH", "NUMA", "PATHS"};
  if (wide) head.insert(head.end(), {"ENV", "ATTRIBUTES"});
  std::vector<TableRow> rows;
  for (const SurveyedEntry& entry : found.entries)
    if (!entry.error.empty()) rows.push_back({entry.name, "", "not scanned", "", entry.error});
  for (const ResourceSnapshot& snapshot : found.snapshots) {
    if (snapshot.inventory.empty())
      rows.push_back({snapshot.resource, "", "no devices", "", why_no_devices(found, snapshot.resource)});
    for (const Device& device : snapshot.inventory.devices()) {
      rows.push_back({snapshot.resource, id_text(device.id, device.replicas), health_text(device.error),
                      joined(device.numa_nodes, ","), paths_of(device)});
      if (wide) std::ranges::move(more_of(device), std::back_inserter(rows.back()));
    }
  }
  for (TableRow& row : rows) row.resize(head.size());
  print_table(std::cout, head, rows, &colour_of);
}

Json json_of_offers(const Survey& found) {
  Json json = Json::Array();
  for (const ResourceSnapshot& snapshot : found.snapshots) {
    Json& resource = json.push_back(Json{{"resource", snapshot.resource}, {"devices", Json::Array()}});
    if (snapshot.inventory.empty()) resource["why"] = why_no_devices(found, snapshot.resource);
    for (const Device& device : snapshot.inventory.devices()) {
      Json& entry = resource["devices"].push_back(
          Json{{"id", device.id}, {"health", device.healthy() ? "Healthy" : "Unhealthy"}});
      if (!device.healthy()) entry["reason"] = device.error;
      if (device.replicas > 1) entry["replicas"] = device.replicas;
      if (!device.numa_nodes.empty()) entry["numa"] = device.numa_nodes;
      for (const DeviceNode& node : device.nodes)
        entry["nodes"].push_back(
            json_of(ContainerNode{node.host_path, node.container_path.pattern(), node.permissions}));
      for (const Mount& mount : device.mounts)
        entry["mounts"].push_back(
            json_of(ContainerMount{mount.host_path, mount.container_path.pattern(), mount.read_only}));
      for (const Variable& variable : device.env) entry["env"][variable.name.pattern()] = variable.value;
      if (!cdi_edits(snapshot.resource, *snapshot.spec, device).empty())
        entry["cdi"] = cdi_qualified_name(snapshot.resource, device.id);
      for (const Attribute& attribute : device.attributes)
        entry["attributes"][attribute.name] = attribute.value;
    }
  }
  return json;
}

Json json_of(const SurveyedEntry& entry) {
  Json json{
      {"entry", entry.name}, {"where", entry.where}, {"error", entry.error}, {"selectors", Json::Array()}};
  for (const Funnel& funnel : entry.funnels)
    json["selectors"].push_back(Json{{"selector", funnel.selector}, {"steps", funnel.lines()}});
  json["listed"] = entry.listed;
  json["unhealthy"] = entry.unhealthy;
  return json;
}

// Prints the way from what was seen to what is listed.
void explain(const SurveyedEntry& entry) {
  std::cout << entry.name << " (" << entry.where << ")\n";
  if (!entry.error.empty()) std::cout << "  not scanned: " << entry.error << '\n';
  for (const Funnel& funnel : entry.funnels)
    std::cout << "  " << funnel.selector << "\n    " << joined(funnel.lines(), "\n    ") << '\n';
  std::cout << "  " << entry.listed << " listed, " << entry.unhealthy.size() << " of them Unhealthy\n";
  for (const std::string& device : entry.unhealthy) std::cout << "    " << device << '\n';
}

int explain(const Survey& found, const DiscoverOptions& options) {
  std::vector<std::string_view> names;
  Json json = Json::Array();
  for (const SurveyedEntry& entry : found.entries) {
    names.push_back(entry.name);
    if (!names_resource(options.explain, entry.name) &&
        std::ranges::none_of(entry.resources, [&](const std::string& resource) {
          return names_resource(options.explain, resource);
        }))
      continue;
    json.push_back(json_of(entry));
    if (is_table(options.format)) explain(entry);
  }
  if (json.array().empty())
    throw std::runtime_error("no entry lists " + quote(options.explain) +
                             did_you_mean(options.explain, names) +
                             "; `plughost discover` shows those of this node");
  if (!is_table(options.format)) print(std::cout, json, options.format);
  return found.errors.empty() ? 0 : 1;
}

}  // namespace

int discover(const DiscoverOptions& options) {
  const HostRoot host;
  const Survey found = survey(given_config(options.file), host);
  if (!options.explain.empty()) return explain(found, options);
  if (is_table(options.format))
    print_offers(found, options.format == OutputFormat::kWide);
  else if (options.format == OutputFormat::kName)
    print_names(found);
  else
    print(std::cout, json_of_offers(found), options.format);
  for (const NotHere& other : found.others) std::cerr << other.text() << '\n';
  for (const std::string& remark : found.remarks) std::cerr << "note: " << remark << '\n';
  for (const std::string& remark : remarks_on(host, found.snapshots)) std::cerr << "note: " << remark << '\n';
  for (const std::string& note : found.unmatched) std::cerr << "note: " << note << '\n';
  for (const std::string& error : found.errors) std::cerr << "error: " << error << '\n';
  return found.errors.empty() ? 0 : 1;
}

}  // namespace plughost
