#include "config/read_entry.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

using AttributeNames = std::span<const std::string_view>;

constexpr unsigned kMostReplicas = 10'000;
// The attributes that can name a device in a map of `replicas`.
constexpr std::string_view kDeviceNames[] = {"id", "uuid", "pci", "index", "name"};

// Reads attributes with a pattern or a list of patterns each.
DevicePattern read_pattern(const Node& node, const std::string& path, AttributeNames attributes,
                           Diagnostics& diagnostics) {
  DevicePattern pattern;
  Fields fields(node, path, diagnostics);
  for (const std::string_view attribute : attributes) {
    if (!fields.has(attribute)) continue;
    const std::size_t errors = diagnostics.error_count();
    std::vector<std::string> texts = fields.texts(attribute);
    const bool empty = texts.empty() || std::ranges::find(texts, "") != texts.end();
    if (empty && diagnostics.error_count() == errors)
      fields.error(attribute, "must be a pattern; \"*\" matches anything that is not empty");
    pattern.attributes[std::string(attribute)] = std::move(texts);
  }
  const bool is_map = node.kind == Node::Kind::kMap || node.kind == Node::Kind::kNull;
  if (is_map && node.members.empty())
    diagnostics.error(node.mark, path, "must be an attribute with a pattern, of " + joined(attributes, ", "));
  return pattern;
}

// Reads a list of patterns; a single pattern counts as a list of one.
std::vector<DevicePattern> read_patterns(Fields& fields, const std::string& key, AttributeNames attributes) {
  std::vector<DevicePattern> patterns;
  const auto read = [&](const Node& node, const std::string& where) {
    patterns.push_back(read_pattern(node, fields.path_of(where), attributes, fields.diagnostics()));
    patterns.back().where = where;
  };
  const Node* const node = fields.node(key);
  if (!node) return patterns;
  if (node->kind == Node::Kind::kMap) {
    read(*node, key);
    return patterns;
  }
  const std::vector<Node>& items = fields.items(key);
  if (items.empty()) fields.error(key, "the list is empty; leave the key out to take every device");
  for (std::size_t i = 0; i < items.size(); ++i) read(items[i], key + '[' + std::to_string(i) + ']');
  return patterns;
}

// Reads replicas by device names or patterns of names.
void read_replicas_by_name(Fields& fields, const Node& node, AllocationSpec& spec) {
  spec.replicas = fields.number("default", 1, 1, kMostReplicas);
  for (const auto& [device, replicas] : node.members) {
    if (device.scalar == "default") continue;
    ReplicaRule& rule = spec.replicas_of.emplace_back();
    for (const std::string_view name : kDeviceNames)
      rule.devices.push_back({.attributes = {{std::string(name), {device.scalar}}}});
    rule.replicas = fields.number(device.scalar, 1, 1, kMostReplicas);
    rule.where = "replicas." + device.scalar;
  }
  // A map has no order: whole names precede patterns, and among several the smallest number counts.
  std::ranges::sort(spec.replicas_of, {}, [](const ReplicaRule& rule) {
    const bool pattern = rule.where.find_first_of("*?[") != std::string::npos;
    return std::tuple(pattern, rule.replicas, std::string_view(rule.where));
  });
}

// Reads rules, of which the first match counts; a rule without `only` matches all other devices.
void read_replica_rules(Fields& entry, AttributeNames attributes, AllocationSpec& spec) {
  const std::vector<Node>& items = entry.items("replicas");
  if (items.empty()) entry.error("replicas", "the list is empty; leave the key out for one each");
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string where = "replicas[" + std::to_string(i) + ']';
    Fields fields(items[i], entry.path_of(where), entry.diagnostics());
    if (!fields.has("count")) fields.error("count", "the key 'count' is missing, as in count: 4");
    const unsigned count = fields.number("count", 1, 1, kMostReplicas);
    if (fields.has("only")) {
      spec.replicas_of.push_back(
          {.devices = read_patterns(fields, "only", attributes), .replicas = count, .where = where});
      continue;
    }
    spec.replicas = count;
    if (i + 1 < items.size())
      fields.error("only",
                   "an item without `only` applies to all other devices; move it to the end of the list");
  }
}

}  // namespace

Choice read_choice(Fields& entry, AttributeNames attributes) {
  return {.only = read_patterns(entry, "only", attributes),
          .except = read_patterns(entry, "except", attributes)};
}

void read_replicas(Fields& entry, AttributeNames attributes, AllocationSpec& spec) {
  const Node* const node = entry.node("replicas");
  if (node && node->kind == Node::Kind::kSequence) {
    read_replica_rules(entry, attributes, spec);
  } else if (node && node->kind == Node::Kind::kMap) {
    Fields fields(*node, entry.path_of("replicas"), entry.diagnostics());
    read_replicas_by_name(fields, *node, spec);
  } else {
    spec.replicas = entry.number("replicas", 1, 1, kMostReplicas);
  }
}

}  // namespace plughost
