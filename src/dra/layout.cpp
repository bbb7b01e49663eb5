#include "dra/layout.hpp"

#include <algorithm>
#include <set>

#include "dra/limits.hpp"
#include "dra/names.hpp"

namespace plughost {
namespace {

using Places = std::map<std::string, std::size_t>;

// How many there are in each slice.
std::vector<std::size_t> counts_of(const Places& places, std::size_t slices) {
  std::vector<std::size_t> counts(slices);
  for (const auto& [name, index] : places) ++counts[index];
  return counts;
}

template <typename NamedList>
void keep_those(const NamedList& wanted, Places& places) {
  std::set<std::string_view> names;
  for (const auto& each : wanted) names.insert(each.name);
  std::erase_if(places, [&](const auto& place) { return !names.contains(place.first); });
}

// A place for each that has none, where no others are; in new slices if it must be.
template <typename NamedList>
void place(const NamedList& wanted, Places& places, const Places& others, std::size_t most,
           std::size_t& slices) {
  std::vector<std::size_t> counts = counts_of(places, slices);
  const std::vector<std::size_t> taken = counts_of(others, slices);
  std::size_t index = 0;
  for (const auto& each : wanted) {
    if (places.contains(each.name)) continue;
    while (index < slices && (counts[index] >= most || (index < taken.size() && taken[index] > 0))) ++index;
    if (index == slices) {
      ++slices;
      counts.push_back(0);
    }
    ++counts[index];
    places[each.name] = index;
  }
}

// Takes what is too much in a slice out of it. Does any lose its place?
bool take_out(Places& places, const Places& others, std::size_t most, std::size_t slices) {
  std::vector<std::size_t> counts(slices);
  const std::vector<std::size_t> taken = counts_of(others, slices);
  return std::erase_if(places, [&](const auto& place) {
           return taken[place.second] > 0 || ++counts[place.second] > most;
         }) > 0;
}

}  // namespace

PoolLayout layout_shown(std::span<const Slice> shown) {
  PoolLayout layout;
  std::int64_t highest = 0;
  for (const Slice& slice : shown)
    if (slice.generation <= kLastGeneration) highest = std::max(highest, slice.generation);
  for (const Slice& slice : shown) {
    const auto index = slice_index(slice.name);
    if (!index || *index >= kMostSlicesShown || slice.generation != highest) continue;
    layout.slices = std::max(layout.slices, *index + 1);
    for (const PoolDevice& device : slice.devices) layout.devices.emplace(device.name, *index);
    for (const CounterSet& set : slice.counters) layout.counters.emplace(set.name, *index);
  }
  layout.generation = std::max<std::int64_t>(highest, 1);
  return layout;
}

PoolLayout laid_out(const Pool& pool, PoolLayout before) {
  PoolLayout layout = std::move(before);
  const std::size_t former = layout.slices;
  keep_those(pool.devices, layout.devices);
  keep_those(pool.counters, layout.counters);
  bool moves = false;
  if (layout.slices > 1 && pool.devices.size() <= kFewDevices && pool.counters.empty()) {
    layout.slices = 1;
    layout.devices.clear();
  } else {
    // Of slices that somebody else has laid out.
    moves = take_out(layout.devices, {}, kMostDevicesOfSlice, layout.slices);
    moves = take_out(layout.counters, layout.devices, kMostCounterSetsOfSlice, layout.slices) || moves;
  }
  place(pool.counters, layout.counters, layout.devices, kMostCounterSetsOfSlice, layout.slices);
  place(pool.devices, layout.devices, layout.counters, kMostDevicesOfSlice, layout.slices);
  if (layout.slices == 0) layout.slices = 1;
  if (former > 0 && (moves || layout.slices != former)) ++layout.generation;
  return layout;
}

std::vector<Slice> slices_of(const Pool& pool, const PoolLayout& layout, const std::string& driver,
                             const std::string& node) {
  std::vector<Slice> slices(layout.slices);
  for (std::size_t index = 0; index < slices.size(); ++index) {
    slices[index].name = slice_name(index, driver, node, pool.name);
    slices[index].pool = pool.name;
    slices[index].generation = layout.generation;
    slices[index].slices = static_cast<std::int64_t>(layout.slices);
  }
  for (const PoolDevice& device : pool.devices)
    slices[layout.devices.at(device.name)].devices.edit().push_back(device);
  for (const CounterSet& set : pool.counters) slices[layout.counters.at(set.name)].counters.push_back(set);
  return slices;
}

}  // namespace plughost
