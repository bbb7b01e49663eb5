#include "tools/convert/peers/peers.hpp"

#include "base/document/yaml.hpp"
#include "embedded/peers.hpp"

namespace plughost {
namespace {

struct Tables {
  Tables() {
    Diagnostics diagnostics;
    if (auto read = parse_yaml(std::string(kPeers), "peers.yaml", diagnostics)) root = *std::move(read);
    for (const Node& row : root.items) {
      const auto plugin = plugin_named(text_at(row, "plugin"));
      if (!plugin) continue;
      peers.push_back({*plugin, &row});
      for (const Node& chart : at(row, "charts").items) charts.push_back({*plugin, &chart});
    }
  }

  Node root;
  std::vector<Peer> peers;
  std::vector<Chart> charts;
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

template <typename Matches>
const Chart* first_chart(const Matches& matches) {
  const auto found = std::ranges::find_if(tables().charts, matches);
  return found == tables().charts.end() ? nullptr : &*found;
}

}  // namespace

std::span<const Peer> peers() { return tables().peers; }

const Node& peer_of(OtherPlugin plugin) { return *std::ranges::find(peers(), plugin, &Peer::plugin)->row; }

const Chart* chart_named(std::string_view name) {
  return first_chart([&](const Chart& chart) { return !name.empty() && chart["name"] == name; });
}

const Chart* chart_of_object(const Node& object) {
  const std::string& kind = text_at(object, "kind");
  return first_chart([&](const Chart& chart) {
    return !kind.empty() && chart["kind"] == kind &&
           text_at(object, "apiVersion").starts_with(chart["group"]);
  });
}

const Chart* chart_of_values(const Node& values) {
  const auto is_there = [&](const std::string& path) {
    return at_path(values, path).kind != Node::Kind::kNull;
  };
  return first_chart([&](const Chart& chart) {
    return may_be_values_of(chart, values) && any_word(at(*chart.row, "own"), is_there);
  });
}

bool may_be_values_of(const Chart& chart, const Node& values) {
  const Node& keys = at(*chart.row, "keys");
  return !values.members.empty() && std::ranges::all_of(values.members, [&](const Node::Member& member) {
    return has_word(keys, member.first.scalar);
  });
}

const Node& at_path(const Node& map, std::string_view path) {
  const Node* node = &map;
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(key.size() + 1, path.size()));
    node = &at(*node, key);
  }
  return *node;
}

bool has_word(const Node& list, std::string_view word) {
  return any_word(list, [&](const std::string& each) { return each == word; });
}

bool is_log_flag(std::string_view flag) {
  static constexpr std::string_view kFlags[] = {"v", "logtostderr", "alsologtostderr", "stderrthreshold"};
  return std::ranges::find(kFlags, flag) != std::end(kFlags);
}

std::string_view stranger_of(std::string_view image, std::string_view flag) {
  for (const Node& row : tables().root.items) {
    const bool is_it =
        any_word(at(row, "images"), [&](const std::string& end) { return ends_in(image, end); }) ||
        has_word(at(row, "flags"), flag);
    if (row.find("stranger") && is_it) return text_at(row, "stranger");
  }
  return {};
}

bool ends_in(std::string_view path, std::string_view word) {
  if (!path.ends_with(word)) return false;
  const std::string_view before = path.substr(0, path.size() - word.size());
  return before.empty() || before.ends_with('/') || before.ends_with('-');
}

}  // namespace plughost
