// plughost dra: what a cluster's administrator applies, made of the configuration.

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "commands/command.hpp"
#include "config/config.hpp"
#include "config/rights.hpp"
#include "config/yaml_text.hpp"
#include "dra/manifests.hpp"
#include "dra/names.hpp"
#include "dra/terms.hpp"

namespace plughost {
namespace {

std::optional<ClaimableEntry::Part> part_of(const CardUnit& unit) {
  if (unit.memory > 0)
    return ClaimableEntry::Part{.capacity = "memory", .amount = bytes_quantity(unit.memory)};
  if (unit.cores > 0) return ClaimableEntry::Part{.capacity = "cores", .amount = std::to_string(unit.cores)};
  return std::nullopt;
}

std::vector<ClaimableEntry> entries_of(const Config& config) {
  std::vector<ClaimableEntry> entries;
  for (const ResourceConfig& resource : config.resources) {
    const Recipe& recipe = *resource.recipe;
    if (!recipe.dra) continue;
    entries.push_back({.name = recipe.name.text(),
                       .near = recipe.near,
                       .part = part_of(recipe.dra->unit),
                       .one_resource = recipe.name.literal() && !recipe.rename_shared});
  }
  if (entries.empty() || !config.dra)
    throw std::runtime_error("no entry of " + config.files.paths.front().string() +
                             " has `advertise: dra`: a cluster needs nothing for the others");
  return entries;
}

// By group and resource, each verb once.
std::vector<RoleRule> rules_of(const Config& config) {
  std::vector<RoleRule> rules;
  for (const Right& right : rights_of(config)) {
    const std::string resource = right.resource + (right.subresource.empty() ? "" : '/' + right.subresource);
    const auto same = std::ranges::find_if(
        rules, [&](const RoleRule& rule) { return rule.group == right.group && rule.resource == resource; });
    if (same == rules.end())
      rules.push_back({.group = right.group, .resource = resource, .verbs = {right.verb}});
    else
      same->verbs.push_back(right.verb);
  }
  return rules;
}

std::vector<Json> access_of(const Config& config, const std::string& account) {
  const std::size_t slash = account.find('/');
  const std::string name_space = account.substr(0, slash);
  const std::string name = slash == std::string::npos ? "" : account.substr(slash + 1);
  if (!is_dns_label(name_space) || !is_dns_subdomain(name))
    throw std::runtime_error(
        "--account is a namespace and the name of a service account in it, as in plughost/plughost");
  return driver_access(config.dra->driver, name_space, name, rules_of(config));
}

std::vector<Json> objects_of(const Config& config, const DraOptions& options) {
  const std::vector<ClaimableEntry> entries = entries_of(config);
  switch (options.texts) {
    case DraTexts::kClasses:
      return device_classes(config.dra->driver, entries);
    case DraTexts::kTemplates:
      return claim_templates(entries);
    case DraTexts::kRbac:
      break;
  }
  return access_of(config, options.account);
}

}  // namespace

int dra(const DraOptions& options) {
  try {
    for (const Json& object : objects_of(load_config(options.file), options))
      std::cout << "---\n" << yaml_from_json(object.dump(), Quotes::kWhereNeeded) << '\n';
    return 0;
  } catch (const std::runtime_error& error) {  // ConfigError among them
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace plughost
