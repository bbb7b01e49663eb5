#include "dra/layout.hpp"

#include <doctest/doctest.h>

#include <string>

#include "dra/limits.hpp"
#include "dra/names.hpp"

using namespace plughost;

namespace {

Pool pool_of(std::size_t count, std::size_t from = 0) {
  Pool pool{.name = "node-a/p", .devices = {}, .counters = {}};
  for (std::size_t i = from; i < from + count; ++i)
    pool.devices.edit().push_back({.name = "d" + std::to_string(i)});
  return pool;
}

std::vector<CounterSet> sets(std::size_t count) {
  std::vector<CounterSet> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back({.name = "s" + std::to_string(i), .counters = {{"c", 1}}});
  return all;
}

std::vector<Slice> slices(const Pool& pool, const PoolLayout& layout) {
  return slices_of(pool, layout, "driver", "node-a");
}

std::vector<std::size_t> sizes(const Pool& pool, const PoolLayout& layout) {
  std::vector<std::size_t> all;
  for (const Slice& slice : slices(pool, layout)) all.push_back(slice.devices.size());
  return all;
}

}  // namespace

TEST_CASE("a pool has slices of 64 devices, and one if it has none") {
  using Sizes = std::vector<std::size_t>;
  CHECK(sizes(pool_of(0), laid_out(pool_of(0), {})) == Sizes{0});
  CHECK(sizes(pool_of(64), laid_out(pool_of(64), {})) == Sizes{64});
  CHECK(sizes(pool_of(65), laid_out(pool_of(65), {})) == Sizes{64, 1});
  CHECK(sizes(pool_of(129), laid_out(pool_of(129), {})) == Sizes{64, 64, 1});
  const auto all = slices(pool_of(65), laid_out(pool_of(65), {}));
  CHECK(all[0].name == slice_name(0, "driver", "node-a", "node-a/p"));
  CHECK(all[1].name == slice_name(1, "driver", "node-a", "node-a/p"));
  for (const Slice& slice : all) {
    CHECK(slice.pool == "node-a/p");
    CHECK(slice.generation == 1);
    CHECK(slice.slices == 2);
  }
  CHECK(all[0].devices.front().name == "d0");
  CHECK(all[1].devices.front().name == "d64");
}

TEST_CASE("a device stays where it is, and a new one takes the first place that is free") {
  const PoolLayout first = laid_out(pool_of(130), {});
  Pool pool = pool_of(130);
  pool.devices.edit().erase(pool.devices.edit().begin() + 70);
  pool.devices.edit().erase(pool.devices.edit().begin() + 3);
  const PoolLayout second = laid_out(pool, first);
  CHECK(second.generation == 1);
  CHECK(second.slices == 3);
  CHECK(sizes(pool, second) == std::vector<std::size_t>{63, 63, 2});
  pool.devices.edit().push_back({.name = "x"});
  pool.devices.edit().push_back({.name = "y"});
  pool.devices.edit().push_back({.name = "z"});
  const PoolLayout third = laid_out(pool, second);
  CHECK(third.devices.at("x") == 0);
  CHECK(third.devices.at("y") == 1);
  CHECK(third.devices.at("z") == 2);
  CHECK(third.devices.at("d129") == 2);
  CHECK(third.generation == 1);
}

TEST_CASE("another number of slices is another generation, and an empty slice stays") {
  const PoolLayout first = laid_out(pool_of(64), {});
  const PoolLayout second = laid_out(pool_of(65), first);
  CHECK(second.generation == 2);
  CHECK(second.slices == 2);
  const PoolLayout third = laid_out(pool_of(64), second);
  CHECK(third.generation == 2);
  CHECK(third.slices == 2);
  CHECK(sizes(pool_of(64), third) == std::vector<std::size_t>{64, 0});
  CHECK(laid_out(pool_of(65), third) == second);
}

TEST_CASE("what 32 devices are left of is one slice again, of the next generation") {
  const PoolLayout first = laid_out(pool_of(65), {});
  CHECK(laid_out(pool_of(33, 32), first).slices == 2);
  const PoolLayout second = laid_out(pool_of(32, 33), first);
  CHECK(second.slices == 1);
  CHECK(second.generation == 2);
  CHECK(sizes(pool_of(32, 33), second) == std::vector<std::size_t>{32});
  CHECK(laid_out(pool_of(32, 33), second) == second);
}

TEST_CASE("counters have slices of their own, eight sets each, whatever comes and goes") {
  Pool pool = pool_of(2);
  pool.counters = sets(9);
  const PoolLayout first = laid_out(pool, {});
  const auto all = slices(pool, first);
  REQUIRE(all.size() == 3);
  CHECK(all[0].counters.size() == 8);
  CHECK(all[0].devices.empty());
  CHECK(all[1].counters.size() == 1);
  CHECK(all[1].devices.empty());
  CHECK(all[2].devices.size() == 2);
  CHECK(all[2].slices == 3);
  pool.counters = sets(0);
  pool.devices = pool_of(40).devices;
  const PoolLayout second = laid_out(pool, first);
  CHECK(second.slices == 3);
  CHECK(second.devices.at("d0") == 2);
  CHECK(second.devices.at("d2") == 0);
  pool.counters = sets(1);
  const PoolLayout third = laid_out(pool, second);
  CHECK(third.counters.at("s0") == 1);
  CHECK(third.slices == 3);
}

TEST_CASE("what the API server shows is laid out as it is there") {
  Pool pool = pool_of(140);
  pool.devices.edit().erase(pool.devices.edit().begin() + 1);
  pool.counters = sets(1);
  PoolLayout layout = laid_out(pool, laid_out(pool_of(140), {}));
  CHECK(layout.generation == 2);
  const auto all = slices(pool, layout);
  CHECK(layout_shown(all) == layout);
  CHECK(laid_out(pool, layout_shown(all)) == layout);
  CHECK(layout_shown({}) == PoolLayout());
  // In whatever order.
  CHECK(layout_shown(std::vector<Slice>(all.rbegin(), all.rend())) == layout);
}

TEST_CASE("a slice that was wiped is filled again, and the others keep what they have") {
  const Pool pool = pool_of(140);
  const PoolLayout layout = laid_out(pool, {});
  auto all = slices(pool, layout);
  all.erase(all.begin() + 1);
  CHECK(laid_out(pool, layout_shown(all)) == layout);
}

TEST_CASE("only the highest generation counts, and none that cannot be counted on from") {
  const Pool pool = pool_of(65);
  auto all = slices(pool, laid_out(pool, {}));
  all[0].generation = 3;
  PoolLayout layout = layout_shown(all);
  CHECK(layout.generation == 3);
  CHECK(layout.slices == 1);
  CHECK_FALSE(layout.devices.contains("d64"));
  layout = laid_out(pool, layout);
  CHECK(layout.generation == 4);
  CHECK(layout.slices == 2);
  all[0].generation = kLastGeneration;
  CHECK(layout_shown(all).generation == kLastGeneration);
  all[0].generation = kLastGeneration + 1;
  CHECK(layout_shown(all).generation == 1);
  CHECK(layout_shown(all).slices == 2);
  all[0].generation = 0;
  all[1].generation = 0;
  CHECK(layout_shown(all).generation == 1);
  CHECK(layout_shown(all).devices.size() == 65);
  all[1].name = "00400" + all[1].name.substr(5);
  CHECK(layout_shown(all).slices == 1);
  all[1].name = "003ff" + all[1].name.substr(5);
  CHECK(layout_shown(all).slices == 1024);
  all[1].name = "other";
  CHECK(layout_shown(all).slices == 1);
}

TEST_CASE("what is too much in a slice, or has counters beside it, moves in another generation") {
  const Pool pool = pool_of(100);
  PoolLayout layout{.generation = 5, .slices = 2, .devices = {}, .counters = {}};
  for (const PoolDevice& device : pool.devices) layout.devices[device.name] = 0;
  layout = laid_out(pool, layout);
  CHECK(layout.generation == 6);
  CHECK(sizes(pool, layout) == std::vector<std::size_t>{64, 36});

  Pool mixed = pool_of(1);
  mixed.counters = sets(1);
  layout = {.generation = 1, .slices = 2, .devices = {{"d0", 0}}, .counters = {{"s0", 0}}};
  layout = laid_out(mixed, layout);
  CHECK(layout.generation == 2);
  CHECK(layout.devices.at("d0") == 0);
  CHECK(layout.counters.at("s0") == 1);
}
