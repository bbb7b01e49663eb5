#include "config/read_node_resources.hpp"

#include <string>

#include "base/words.hpp"

namespace plughost {
namespace {

constexpr Word<CardCount> kCounts[] = {{"{cards}", CardCount::kCards}, {"{cores}", CardCount::kCores}};

// Of the kind `gpu`, with units.
bool divides_cards(Fields& entry) {
  const Node* const gpu = entry.node("gpu");
  return gpu && gpu->find("unit");
}

}  // namespace

std::vector<NodeResourceRecipe> read_node_resources(Fields& entry) {
  const Node* const map = entry.node("nodeResources");
  if (!map || map->kind == Node::Kind::kNull) return {};
  if (map->kind != Node::Kind::kMap) {
    entry.error("nodeResources",
                std::string("a map of names and counts is expected here, and this is ") + map->kind_name());
    return {};
  }
  if (!divides_cards(entry))
    entry.error(
        "nodeResources",
        "cards are counted for an entry that divides them; give it `gpu: {unit: {memory: 1MiB}}`, or leave "
        "this out: the kubelet counts whole cards itself");
  Diagnostics& diagnostics = entry.diagnostics();
  std::vector<NodeResourceRecipe> recipes;
  for (const auto& [key, value] : map->members) {
    const std::string path = entry.path_of("nodeResources") + '.' + key.scalar;
    if (const std::string trouble = node_resource_trouble(key.scalar); !trouble.empty())
      diagnostics.error(key.mark, path,
                        quote(key.scalar) + " cannot be a resource of the node's. " + trouble);
    const auto count = value.kind == Node::Kind::kScalar ? value_of(kCounts, value.scalar) : std::nullopt;
    if (!count)
      diagnostics.error(value.mark, path,
                        "a count is expected here: \"{cards}\" for the healthy cards, or \"{cores}\" for " +
                            std::to_string(kCoresOfACard) + " of each");
    recipes.push_back({.key = key.scalar, .count = count.value_or(CardCount::kCards)});
  }
  return recipes;
}

}  // namespace plughost
