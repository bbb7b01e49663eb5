#include "tools/convert/manifests/charts.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/document/yaml.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValuesKey = "values.yaml";

constexpr const char* kJoin = "`kubectl kustomize DIRECTORY | plughost convert -` has the whole";

// Returns true if `values` have every key of `others`.
bool has_keys_of(const Node& values, const Node& others) {
  return std::ranges::all_of(others.members, [&](const Node::Member& member) {
    const Node* const own = values.find(member.first.scalar);
    return own && has_keys_of(*own, member.second);
  });
}

// Returns true if `others` say no more than `values`.
bool covers(const Node& values, const Node& others) {
  return has_keys_of(values, others) &&
         (!has_keys_of(others, values) || content_of(values) == content_of(others));
}

Node map_of(std::string key, const Node& value) {
  Node map{.kind = Node::Kind::kMap, .mark = value.mark};
  map.members.push_back({{.kind = Node::Kind::kScalar, .mark = value.mark, .scalar = std::move(key)}, value});
  return map;
}

void add_map(const Node& more, UsedChart& chart) {
  if (more.kind == Node::Kind::kMap) chart.values = merged_values(chart.values, more);
}

// Adds values that are a map, or a text with a map.
void add_map_or_text(const Node& values, const std::string& place, UsedChart& chart,
                     Diagnostics& diagnostics) {
  add_map(values, chart);
  if (values.scalar.empty()) return;
  const std::string name = values.mark.file.text() + " (" + place + ')';
  const std::size_t errors = diagnostics.error_count();
  const auto root = parse_yaml(values.scalar, name, diagnostics);
  if (root && root->kind == Node::Kind::kScalar)
    diagnostics.error(
        values.mark, "",
        "the values of the chart " + chart.name + " are the text " + quote(values.scalar) +
            ", which something fills in later; convert what it becomes: `helm get manifest RELEASE "
            "| plughost convert -`");
  chart.unreadable = chart.unreadable || diagnostics.error_count() > errors;
  if (root) add_map(*root, chart);
}

// A dot in a name separates the keys of nested maps.
void add_parameters(const Node& list, UsedChart& chart) {
  for (const Node& each : list.items) {
    std::string name = text_at(each, "name");
    Node value = at(each, "value");
    while (!name.empty()) {
      const std::size_t dot = name.rfind('.');
      value = map_of(name.substr(dot + 1), value);  // npos + 1 is 0
      name.resize(dot == std::string::npos ? 0 : dot);
    }
    add_map(value, chart);
  }
}

void add_files(const Node& files, UsedChart& chart) {
  if (!files.scalar.empty()) chart.files.push_back(files.scalar);
  for (const Node& file : files.items) {
    if (!file.scalar.empty()) chart.files.push_back(file.scalar);
    add_map(file, chart);  // helmfile also allows maps in this list
  }
}

std::string chart_name(const Node& map, const ChartRepositories& repositories) {
  if (map.find("sourceRef")) return {};  // the inner map of Flux
  const Node& chart = at(map, "chart");
  for (const Node* const name : {&chart, &at(at(chart, "spec"), "chart"), &at(chart, "name")})
    if (!name->scalar.empty()) return last_part(name->scalar);
  if (const std::string& name = text_at(at(map, "chartRef"), "name"); !name.empty()) {
    const auto found = repositories.find(name);
    return found == repositories.end() ? name : found->second;
  }
  const bool of_kustomize =
      map.find("valuesInline") || map.find("valuesFile") || (map.find("repo") && map.find("version"));
  return of_kustomize ? text_at(map, "name") : "";
}

// Explains each of a chart's values.
void explain(const Chart& chart, const Node& node, const std::string& path,
             std::vector<std::string>& explanations) {
  static constexpr std::string_view kRead[] = {"args", "command", "config", "env", "image"};
  const std::vector<Node>& rows = at(*chart.row, "values").items;
  for (const auto& [key, value] : node.members) {
    const std::string below = path.empty() ? key.scalar : path + '.' + key.scalar;
    const auto is_it = [&](const Node& row) { return text_at(row, "path") == below; };
    const auto row = std::ranges::find_if(rows, is_it);
    const bool chooses_nodes = key.scalar == "nodeSelector" || key.scalar == "affinity";
    std::string what = "left to the chart";
    if (row != rows.end())
      what = "becomes " + text_at(*row, "variable");
    else if (chooses_nodes)
      what = "becomes when";
    else if (std::ranges::find(kRead, key.scalar) != std::end(kRead))
      what = "read";
    else if (!value.members.empty())
      explain(chart, value, below, explanations);
    if (value.members.empty() || what != "left to the chart")
      explanations.push_back(value.mark.text() + ": " + below + ": " + what);
  }
}

}  // namespace

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

std::optional<UsedChart> used_chart(const Node& map, const std::string& place,
                                    const ChartRepositories& repositories, Diagnostics& diagnostics) {
  UsedChart chart{.name = chart_name(map, repositories),
                  .values = {.kind = Node::Kind::kMap, .mark = map.mark},
                  .files = {}};
  if (chart.name.empty()) return std::nullopt;
  Diagnostics nobody_reads;
  Diagnostics& told = chart_named(chart.name) ? diagnostics : nobody_reads;
  const Node& helm = at(map, "helm");
  for (const char* key : {"valuesFile", "additionalValuesFiles", "valueFiles", "valuesFiles"}) {
    for (const Node* const from : {&map, &helm, &at(at(map, "chart"), "spec")})
      add_files(at(*from, key), chart);
  }
  for (const Node* const values : {&at(map, "values"), &at(map, "valuesContent"), &at(helm, "values"),
                                   &at(helm, "valuesObject"), &at(map, "valuesInline")}) {
    if (values->kind == Node::Kind::kSequence) add_files(*values, chart);
    add_map_or_text(*values, place, chart, told);
  }
  add_parameters(at(helm, "parameters"), chart);
  add_parameters(at(map, "set"), chart);
  return chart;
}

void add_values(const Chart& chart, const Node& values, PluginCommand& line) {
  for (const Node& row : at(*chart.row, "values").items) {
    const std::string& given = at_path(values, text_at(row, "path")).scalar;
    std::string text = given.empty() ? text_at(row, "fallback") : given;
    if (row.find("ifTrue")) text = text == "true" ? text_at(row, "ifTrue") : "";
    if (!text.empty()) line.environment.emplace(text_at(row, "variable"), text);
  }
}

std::optional<ChartPlugin> started_by(const Chart& chart, const Node& values, const std::string& place,
                                      Diagnostics& diagnostics) {
  if (at_path(values, chart["enabled"]).scalar == "false") return std::nullopt;
  ChartPlugin found{.line = command_of(at_path(values, chart["container"]), place, diagnostics)};
  add_values(chart, values, found.line);
  explain(chart, values, "", found.line.values);
  if (const std::string& name = at_path(values, chart["configMap"]).scalar; !name.empty()) {
    found.config_maps = {name};
    found.line.environment.emplace("CONFIG_FILE", "/config/config.yaml");
  }
  if (chart.row->find("flagsIn")) {
    for (const auto& [flag, value] : at_path(values, chart["flagsIn"]).members)
      found.line.words.push_back("--" + flag.scalar + '=' + value.scalar);
  }
  if (chart.row->find("labels"))
    found.nodes = node_choice(map_of("nodeSelector", at_path(values, chart["labels"])));
  return found;
}

Node merged_values(const Node& under, const Node& over) {
  if (under.kind != Node::Kind::kMap || over.kind != Node::Kind::kMap) return over;
  Node all = under;
  for (const auto& [key, value] : over.members) {
    const auto same = std::ranges::find_if(all.members, [&, &name = key.scalar](const Node::Member& member) {
      return member.first.scalar == name;
    });
    if (same == all.members.end())
      all.members.push_back({key, value});
    else
      same->second = merged_values(same->second, value);
  }
  return all;
}

bool is_object(const Node& node) {
  return !text_at(node, "kind").empty() && !text_at(node, "apiVersion").empty() &&
         (node.find("metadata") || node.find("spec") || node.find("data") || node.find("items"));
}

std::string title_of(const Node& object) {
  const std::string& space = text_at(at(object, "metadata"), "namespace");
  const std::string name = (space.empty() ? "" : space + '/') + text_at(at(object, "metadata"), "name");
  return text_at(object, "kind") + (name.empty() ? "" : ' ' + name);
}

std::string in_namespace(const Node& object) {
  const std::string& space = text_at(at(object, "metadata"), "namespace");
  return space.empty() ? "" : "-n " + space + ' ';
}

Sources::Sources(const std::vector<Node>& documents, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
  for (const Node& root : documents) index(root);
  for (const Node& root : documents) find_uses(root, "");
  for (const auto& [name, file] : patches_) {
    const auto is_it = [&, &wanted = name](const auto& release) {
      return (' ' + release.first).find(' ' + wanted + ' ') != std::string::npos ||
             release.first.find('/' + wanted + ' ') != std::string::npos;
    };
    if (std::ranges::any_of(releases_, is_it))
      doubts_.push_back(file + " has a HelmRelease " + name +
                        " without a chart, whose values are not applied; " + kJoin);
  }
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
  if (text_at(root, "kind") == "OCIRepository")
    repositories_[text_at(at(root, "metadata"), "name")] = last_part(text_at(at(root, "spec"), "url"));
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

void Sources::find_uses(const Node& node, const std::string& outer) {
  const std::string title = is_object(node) ? title_of(node) : outer;
  for (const Node& item : node.items) find_uses(item, title);
  if (node.kind != Node::Kind::kMap) return;
  const Node& spec = at(node, "spec");
  if (text_at(node, "kind") == "HelmRelease" && spec.find("values") && !spec.find("chart") &&
      !spec.find("chartRef"))
    patches_[text_at(at(node, "metadata"), "name")] = node.mark.file.text();
  for (const Node& generator : at(node, "configMapGenerator").items) {
    for (const Node& each : at(generator, "files").items) {
      const Node* const values = file(each.scalar.substr(each.scalar.find('=') + 1), node.mark.file);
      if (values) generated_[text_at(generator, "name")] = values;
    }
  }
  add_use(node, title);
  if (node.find("dependencies") && text_at(node, "apiVersion") == "v2") add_dependencies(node);
  for (const auto& [key, member] : node.members) find_uses(member, title);
}

void Sources::add_use(const Node& map, const std::string& title) {
  auto used = used_chart(map, map.mark.text(), repositories_, diagnostics_);
  if (!used || !chart_named(used->name)) return;
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
  compare_releases(title, map, use);
  uses_.emplace(&map, std::move(use));
}

// Objects of one name in two files are a base and its patch, or those of two clusters.
void Sources::compare_releases(const std::string& title, const Node& map, ChartUse& use) {
  const auto [found, is_new] = releases_.try_emplace(title + ' ' + use.chart.name, &map);
  if (is_new || title.empty() || found->second->mark.file.text() == map.mark.file.text()) return;
  ChartUse& before = uses_.at(found->second);
  use.is_repeated = covers(before.chart.values, use.chart.values);
  before.is_repeated = !use.is_repeated && covers(use.chart.values, before.chart.values);
  const Node& fuller = use.is_repeated ? *found->second : map;
  const bool one_counts = use.is_repeated || before.is_repeated;
  doubts_.push_back(title + " stands in " + found->second->mark.file.text() + " and in " +
                    map.mark.file.text() +
                    (one_counts ? ", and " + fuller.mark.file.text() + " says more and counts"
                                : ", with other values, and each counts") +
                    "; if one patches the other, " + kJoin);
  if (before.is_repeated) found->second = &map;
}

// In a chart with dependencies, the values of a dependency are below the dependency's name.
void Sources::add_dependencies(const Node& chart_file) {
  const Node* const values = file(kValuesKey, chart_file.mark.file);
  for (const Node& dependency : at(chart_file, "dependencies").items) {
    const std::string& alias = text_at(dependency, "alias");
    const std::string& name = text_at(dependency, "name");
    if (!chart_named(name)) continue;
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
