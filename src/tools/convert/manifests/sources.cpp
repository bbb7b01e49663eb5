#include "tools/convert/manifests/sources.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValuesKey = "values.yaml";

}  // namespace

Sources::Sources(const std::vector<Node>& documents, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
  for (const Node& root : documents) index(root);
  for (const Node& root : documents) find_uses(root);
}

const ChartUse* Sources::use_at(const Node& map) const {
  const auto found = uses_.find(&map);
  return found == uses_.end() ? nullptr : &found->second;
}

std::string Sources::generated_of(const Node& root) const {
  const auto found = std::ranges::find_if(generated_, [&](const auto& each) { return each.second == &root; });
  return found == generated_.end() ? "" : found->first;
}

void Sources::index(const Node& root) {
  files_.try_emplace(fs::path(root.mark.file.text()).lexically_normal(), &root);
  if (text_at(root, "kind") == "ConfigMap") config_maps_[text_at(at(root, "metadata"), "name")] = &root;
  if (text_at(root, "kind").ends_with("List")) {
    for (const Node& item : at(root, "items").items) index(item);
  }
}

const Node* Sources::file(const std::string& name, const FileName& from) const {
  // Argo CD's "$values/charts/a.yaml" is relative to another repository.
  const bool of_other = name.starts_with('$') && name.find('/') != std::string::npos;
  const std::string path = of_other ? name.substr(name.find('/') + 1) : name;
  const auto found = files_.find((fs::path(from.text()).parent_path() / path).lexically_normal());
  if (found != files_.end()) return found->second;
  if (!of_other) return nullptr;
  const std::string ending = '/' + fs::path(path).lexically_normal().string();
  const auto below =
      std::ranges::find_if(files_, [&](const auto& each) { return each.first.ends_with(ending); });
  return below != files_.end() ? below->second : nullptr;
}

void Sources::find_uses(const Node& node) {
  for (const Node& item : node.items) find_uses(item);
  if (node.kind != Node::Kind::kMap) return;
  for (const Node& generator : at(node, "configMapGenerator").items) {
    for (const Node& each : at(generator, "files").items) {
      const Node* const values = file(each.scalar.substr(each.scalar.find('=') + 1), node.mark.file);
      if (values) generated_[text_at(generator, "name")] = values;
    }
  }
  add_use(node);
  if (node.find("dependencies") && text_at(node, "apiVersion") == "v2") add_dependencies(node);
  for (const auto& [key, member] : node.members) find_uses(member);
}

void Sources::add_use(const Node& map) {
  auto used = used_chart(map, map.mark.text(), diagnostics_);
  if (!used || !is_known_chart(used->name)) return;
  ChartUse use{.chart = *std::move(used), .others = {}};
  Node own = std::exchange(use.chart.values, Node{.kind = Node::Kind::kMap, .mark = map.mark});
  for (const Node& from : at(map, "valuesFrom").items) {
    const std::string& key = text_at(from, "valuesKey");
    add_config_map(text_at(from, "name"), key.empty() ? kValuesKey : key, use);
  }
  std::erase_if(use.chart.files, [&](const std::string& name) {
    const Node* const values = file(name, map.mark.file);
    if (values) add_values(*values, use);
    return values != nullptr;
  });
  use.chart.values = merged_values(use.chart.values, own);
  uses_.emplace(&map, std::move(use));
}

// In a chart with dependencies, the values of a dependency are below the dependency's name.
void Sources::add_dependencies(const Node& chart_file) {
  const Node* const values = file(kValuesKey, chart_file.mark.file);
  for (const Node& dependency : at(chart_file, "dependencies").items) {
    const std::string& alias = text_at(dependency, "alias");
    const std::string& name = text_at(dependency, "name");
    if (!is_known_chart(name)) continue;
    ChartUse use{
        .chart = {.name = name, .values = {.kind = Node::Kind::kMap, .mark = dependency.mark}, .files = {}},
        .others = {}};
    if (!values) use.chart.files = {kValuesKey};
    if (values) {
      if (const Node* const own = values->find(alias.empty() ? name : alias)) add_values(*own, use);
    }
    uses_.emplace(&dependency, std::move(use));
  }
}

void Sources::add_config_map(const std::string& name, const std::string& key, ChartUse& use) {
  if (const auto found = generated_.find(name); found != generated_.end())
    return add_values(*found->second, use);
  const auto found = config_maps_.find(name);
  if (found == config_maps_.end()) return;
  const Node& text = at(at(*found->second, "data"), key);
  if (const auto root = parse_yaml(text.scalar, text.mark.file.text() + " (" + key + ')', diagnostics_)) {
    use.chart.values = merged_values(use.chart.values, *root);
    use.others.push_back(found->second);
    values_.insert(found->second);
  }
}

void Sources::add_values(const Node& values, ChartUse& use) {
  if (values.kind != Node::Kind::kMap) return;
  use.chart.values = merged_values(use.chart.values, values);
  use.others.push_back(&values);
  values_.insert(&values);
}

}  // namespace plughost
