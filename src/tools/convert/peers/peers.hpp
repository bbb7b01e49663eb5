#pragma once
// The tables of the device plugins that plughost replaces: rows of peers.yaml, whose head explains their
// keys. Rows live as long as the process. Thread-safe.

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/document/node.hpp"
#include "config/other_plugin.hpp"

namespace plughost {

struct Peer {
  OtherPlugin plugin;
  const Node* row;
};

// A chart, or an operator's object, that starts a peer's plugin.
struct Chart {
  OtherPlugin plugin;
  const Node* row;

  const std::string& operator[](std::string_view key) const { return text_at(*row, key); }
};

std::span<const Peer> peers();
const Node& peer_of(OtherPlugin plugin);

// Return the chart of that name, of the object, and of values without a chart; nullptr: none is known.
const Chart* chart_named(std::string_view name);
const Chart* chart_of_object(const Node& object);
const Chart* chart_of_values(const Node& values);
// Returns true if all keys of the values are the chart's.
bool may_be_values_of(const Chart& chart, const Node& values);

// Returns the value at a path such as "mig.strategy"; the map itself if the path is empty.
const Node& at_path(const Node& map, std::string_view path);

// Returns true if a word of the list matches, or is the word.
template <typename Matches>
bool any_word(const Node& list, const Matches& matches) {
  return std::ranges::any_of(list.items, [&](const Node& item) { return matches(item.scalar); });
}
bool has_word(const Node& list, std::string_view word);
// Returns true for flags of the log, which most programs have.
bool is_log_flag(std::string_view flag);

// Returns the name of a plugin without a converter that began as a copy of one: "HAMi's device plugin". Empty
// if neither the end of the image's path nor the flag is known.
std::string_view stranger_of(std::string_view image, std::string_view flag);
// Returns true if the path of an image ends in the word, whatever registry and mirror precede it.
bool ends_in(std::string_view path, std::string_view word);

}  // namespace plughost
