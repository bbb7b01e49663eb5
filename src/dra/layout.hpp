#pragma once
// How a pool is split into slices. Pure functions of values, thread-safe.
//
// A pool's slices are several objects, and no two can be written at once: while their generation differs the
// pool gives no device away. So what changes is the content of slices, and their number as seldom as can be:
// a device stays in the slice that it is in, and a slice that has become empty stays, too. Only from several
// slices to one is no such moment: that is a single write, and the others are void then.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dra/pool.hpp"

namespace plughost {

// Where everything of a pool is, by the index of its slice.
struct PoolLayout {
  std::int64_t generation = 1;
  std::size_t slices = 0;
  std::map<std::string, std::size_t> devices;   // by name
  std::map<std::string, std::size_t> counters;  // counter sets, by name: in slices of their own
  bool operator==(const PoolLayout&) const = default;
};

// With so many devices at most a pool of several slices becomes one of one.
inline constexpr std::size_t kFewDevices = 32;
// What somebody else has written is not followed beyond these.
inline constexpr std::size_t kMostSlicesShown = 1024;
inline constexpr std::int64_t kLastGeneration = std::int64_t{1} << 50;

// What the slices that are there say: those of the highest generation, each at the place that its name has.
// shown: of one pool.
PoolLayout layout_shown(std::span<const Slice> shown);

// The next one: everything has a place, and what had one keeps it. With another number of slices the
// generation is the next.
PoolLayout laid_out(const Pool& pool, PoolLayout before);

// All slices of a pool, by their names, in the order of their indices.
std::vector<Slice> slices_of(const Pool& pool, const PoolLayout& layout, const std::string& driver,
                             const std::string& node);

}  // namespace plughost
