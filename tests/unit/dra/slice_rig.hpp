#pragma once
// A keeper of slices, and an API server that it writes to. Not thread-safe.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dra/names.hpp"
#include "dra/slice_keeper.hpp"

namespace plughost::test {

using What = SliceWrite::What;

inline constexpr const char* kPool = "node-a/p";
inline const SliceOwner kOwner{.driver = "d.example", .node = "node-a", .node_uid = "uid-1"};

inline Pool pool_of(std::size_t count, const std::string& name = kPool) {
  Pool pool{.name = name, .devices = {}, .counters = {}};
  for (std::size_t i = 0; i < count; ++i) pool.devices.edit().push_back({.name = "d" + std::to_string(i)});
  return pool;
}

inline std::string name_of(std::size_t index, const std::string& pool = kPool) {
  return slice_name(index, kOwner.driver, kOwner.node, pool);
}

// A keeper, and an API server that does at once what it says, or fails as the test wants.
struct SliceRig {
  SliceKeeper keeper{1};
  SliceKeeper::Time now{std::chrono::hours(1)};
  std::map<std::string, ShownSlice> server;  // as it is
  std::uint64_t version = 0;
  SliceOwner owner = kOwner;
  DraFeatures kept;
  bool extra = false;  // the server adds something of its own
  std::function<int(const SliceWrite&)> fails = [](const SliceWrite&) { return 0; };
  std::vector<SliceWrite> writes;     // that were made
  std::function<void()> after_write;  // each

  SliceRig() { keeper.own(kOwner); }

  void list() {
    std::vector<ShownSlice> all;
    for (const auto& [name, shown] : server) all.push_back(shown);
    keeper.listed(std::move(all));
  }
  void want(const Pool& pool) { keeper.want({pool}, {}); }

  ShownSlice stored(Slice slice) {
    for (PoolDevice& device : slice.devices.edit()) {
      if (!kept.taints) device.taints.clear();
      if (!kept.sharing) device.several_claims = false;
    }
    ShownSlice shown{.slice = std::move(slice), .owner = owner, .exact = !extra};
    const auto before = server.find(shown.slice.name);
    shown.uid = before == server.end() ? "u" + std::to_string(version) : before->second.uid;
    shown.resource_version = std::to_string(++version);
    server[shown.slice.name] = shown;
    return shown;
  }
  // Somebody else does.
  void edit(const std::string& name, const std::function<void(Slice&)>& change) {
    Slice slice = server.at(name).slice;
    change(slice);
    keeper.changed(stored(std::move(slice)), now);
  }
  void remove(const std::string& name) {
    ShownSlice gone = server.at(name);
    server.erase(name);
    gone.resource_version = std::to_string(++version);
    keeper.gone(gone, now);
  }

  SliceAnswer answer(const SliceWrite& write) {
    if (const int code = fails(write); code != 0)
      return {.code = code < 0 ? 0 : code, .trouble = "code " + std::to_string(code)};
    const auto found = server.find(write.name);
    switch (write.what) {
      case What::kRead:
        if (found == server.end()) return {.code = 404, .trouble = "not found"};
        return {.code = 200, .shown = found->second};
      case What::kCreate:
        if (found != server.end()) return {.code = 409, .trouble = "exists"};
        return {.code = 201, .shown = stored(write.slice)};
      case What::kUpdate:
        if (found == server.end()) return {.code = 404, .trouble = "not found"};
        if (found->second.resource_version != write.resource_version)
          return {.code = 409, .trouble = "conflict"};
        owner = keeper.owner();
        return {.code = 200, .shown = stored(write.slice)};
      case What::kDelete:
        if (found == server.end()) return {.code = 404, .trouble = "not found"};
        if (found->second.uid != write.uid) return {.code = 409, .trouble = "conflict"};
        server.erase(found);
        ++version;
        return {.code = 200};
    }
    return {};
  }
  void make(const SliceWrite& write) {
    const SliceAnswer said = answer(write);
    writes.push_back(write);
    if (after_write) after_write();
    keeper.answered(write.name, said, now);
  }
  // What is due now, and what follows from it. How many writes?
  std::size_t go() {
    const std::size_t before = writes.size();
    for (int rounds = 0; rounds < 100; ++rounds) {
      const auto due = keeper.next(now);
      if (due.empty()) return writes.size() - before;
      for (const SliceWrite& write : due) make(write);
    }
    FAIL("the writes do not end");
    return 0;
  }
  // Until nothing is left to be done, or for so long.
  std::size_t settle(std::chrono::milliseconds limit = std::chrono::minutes(10)) {
    const std::size_t before = writes.size();
    const auto end = now + limit;
    for (int rounds = 0; rounds < 10'000; ++rounds) {
      go();
      const auto due = keeper.due();
      if (!due || *due > end) break;
      now = std::max(now, *due);
    }
    return writes.size() - before;
  }
  std::size_t count(What what) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(writes, [&](const SliceWrite& write) { return write.what == what; }));
  }
  bool published(const std::string& pool = kPool) const { return keeper.pools().at(pool).published; }

  // As a scheduler sees it: of the highest generation; nothing: it is incomplete.
  std::optional<std::set<std::string>> devices(const std::string& pool = kPool) const {
    std::int64_t highest = -1;
    for (const auto& [name, shown] : server)
      if (shown.slice.pool == pool) highest = std::max(highest, shown.slice.generation);
    std::set<std::string> names;
    std::int64_t slices = 0;
    for (const auto& [name, shown] : server) {
      if (shown.slice.pool != pool || shown.slice.generation != highest) continue;
      ++slices;
      for (const PoolDevice& device : shown.slice.devices) CHECK(names.insert(device.name).second);
    }
    for (const auto& [name, shown] : server)
      if (shown.slice.pool == pool && shown.slice.generation == highest && shown.slice.slices != slices)
        return std::nullopt;
    return names;
  }
};

inline SliceRig published_rig(std::size_t devices) {
  SliceRig rig;
  rig.want(pool_of(devices));
  rig.list();
  rig.settle();
  REQUIRE(rig.published());
  rig.writes.clear();
  rig.now += std::chrono::hours(1);
  return rig;
}

}  // namespace plughost::test
