// How the slices of a pool are made, grow, shrink and change.

#include <doctest/doctest.h>

#include "unit/dra/slice_rig.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("nothing is written before the slices are listed, and before something is wanted") {
  SliceRig rig;
  CHECK(rig.go() == 0);
  rig.want(pool_of(1));
  CHECK(rig.go() == 0);
  CHECK_FALSE(rig.keeper.clean());
  rig.list();
  CHECK(rig.go() == 1);
  CHECK(rig.published());
  SliceRig other;
  other.stored({.name = name_of(0), .pool = kPool});
  other.list();
  CHECK(other.go() == 0);
}

TEST_CASE("a pool is made at once, whatever its size, and then nothing is left to do") {
  SliceRig rig;
  rig.want(pool_of(1000));
  rig.list();
  CHECK(rig.keeper.next(rig.now).size() == 16);
  rig = SliceRig();
  rig.want(pool_of(1000));
  rig.list();
  CHECK(rig.settle() == 16);
  CHECK(rig.count(What::kCreate) == 16);
  CHECK(rig.devices()->size() == 1000);
  const auto state = rig.keeper.pools().at(kPool);
  CHECK(state.devices == 1000);
  CHECK(state.slices == 16);
  CHECK(state.published);
  CHECK(state.trouble.empty());
  CHECK_FALSE(rig.keeper.due());
  CHECK(rig.keeper.clean());
}

TEST_CASE("who starts anew writes nothing if nothing has changed, and only what has") {
  SliceRig rig = published_rig(130);
  SliceRig next;
  next.server = rig.server;
  next.version = rig.version;
  next.want(pool_of(130));
  next.list();
  CHECK(next.settle() == 0);
  CHECK(next.published());

  SliceRig third;
  third.server = rig.server;
  third.version = rig.version;
  Pool pool = pool_of(130);
  pool.devices.edit()[70].attributes["a"] = true;
  third.want(pool);
  third.list();
  CHECK(third.settle() == 1);
  CHECK(third.writes[0].what == What::kUpdate);
  CHECK(third.writes[0].name == name_of(1));
  CHECK(third.writes[0].slice.generation == 1);
}

TEST_CASE("a change is written at once, and what comes soon after it waits for its turn") {
  SliceRig rig = published_rig(2);
  rig.want(pool_of(3));
  CHECK(rig.go() == 1);
  rig.want(pool_of(4));
  CHECK(rig.go() == 0);
  REQUIRE(rig.keeper.due());
  CHECK(*rig.keeper.due() == rig.now + SliceKeeper::kBetween);
  CHECK_FALSE(rig.published());
  rig.now += SliceKeeper::kBetween;
  CHECK(rig.go() == 1);
  CHECK(rig.published());
  CHECK(rig.devices()->size() == 4);
}

TEST_CASE("a hundred hotplugs in a second are ten writes at most, and the last one is seen") {
  SliceRig rig = published_rig(0);
  for (std::size_t i = 1; i <= 50; ++i) {
    rig.want(pool_of(i));
    rig.go();
    rig.now += 10ms;
  }
  for (std::size_t i = 1; i <= 50; ++i) {
    rig.want(pool_of(50 - i));
    rig.go();
    rig.now += 10ms;
  }
  rig.settle();
  CHECK(rig.writes.size() <= 10);
  CHECK(rig.writes.size() >= 5);
  CHECK(rig.devices()->empty());
}

TEST_CASE("only what changes is written: another pool is left alone, and what is not wanted goes") {
  SliceRig rig;
  rig.keeper.want({pool_of(1), pool_of(1, "node-a/q")}, {});
  rig.list();
  rig.settle();
  rig.writes.clear();
  rig.keeper.want({pool_of(2), pool_of(1, "node-a/q")}, {});
  CHECK(rig.settle() == 1);
  CHECK(rig.writes[0].name == name_of(0));
  rig.keeper.want({pool_of(2)}, {"node-a/q"});
  CHECK(rig.settle() == 0);
  CHECK(rig.keeper.clean());
  rig.keeper.want({pool_of(2)}, {});
  CHECK_FALSE(rig.keeper.clean());
  CHECK(rig.settle() == 1);
  CHECK(rig.writes.back().what == What::kDelete);
  CHECK(rig.writes.back().name == name_of(0, "node-a/q"));
  CHECK(rig.server.size() == 1);
  CHECK(rig.keeper.clean());
}

TEST_CASE("a pool grows without a moment in which what it had is void, but for the writes of the new one") {
  SliceRig rig = published_rig(64);
  std::vector<std::string> seen;
  rig.after_write = [&] {
    const auto devices = rig.devices();
    seen.push_back(devices ? std::to_string(devices->size()) : "none");
  };
  rig.want(pool_of(65));
  rig.settle();
  // Made beside what is in force; then both with the next generation.
  CHECK(seen == std::vector<std::string>{"64", "none", "65"});
  CHECK(rig.writes[0].what == What::kCreate);
  CHECK(rig.writes[0].slice.generation == 0);
  CHECK(rig.server.at(name_of(0)).slice.generation == 2);
  CHECK(rig.server.at(name_of(1)).slice.generation == 2);
  CHECK(rig.server.at(name_of(1)).slice.slices == 2);
  CHECK(rig.keeper.pools().at(kPool).generation == 2);
}

TEST_CASE("a pool shrinks to one slice by one write, and the others go after it") {
  SliceRig rig = published_rig(130);
  std::vector<std::size_t> seen;
  rig.after_write = [&] {
    const auto devices = rig.devices();
    seen.push_back(devices ? devices->size() : 999);
  };
  rig.want(pool_of(20));
  rig.settle();
  CHECK(seen == std::vector<std::size_t>{20, 20, 20});
  CHECK(rig.writes[0].what == What::kUpdate);
  CHECK(rig.count(What::kDelete) == 2);
  CHECK(rig.server.size() == 1);
}

TEST_CASE("a device that comes back to another slice is taken out of the former one first") {
  SliceRig rig = published_rig(65);
  Pool pool = pool_of(65);
  const PoolDevice first = pool.devices[0];
  pool.devices.edit()[0] = {.name = "x"};
  rig.want(pool);
  pool.devices.edit().push_back(first);
  rig.want(pool);
  std::size_t names = 0;
  rig.after_write = [&] { names = rig.devices()->size(); };
  const auto due = rig.keeper.next(rig.now);
  REQUIRE(due.size() == 1);
  CHECK(due[0].name == name_of(0));
  rig.make(due[0]);
  CHECK(rig.settle() == 1);
  CHECK(rig.server.at(name_of(1)).slice.devices.size() == 2);
  CHECK(names == 66);
}

TEST_CASE("counters come before the devices that use them, and go after them") {
  SliceRig rig = published_rig(1);
  Pool pool = pool_of(1);
  pool.counters = {{.name = "s0", .counters = {{"c", 1}}}};
  rig.want(pool);
  rig.settle();
  REQUIRE(rig.published());
  rig.writes.clear();
  pool.counters.push_back({.name = "s1", .counters = {{"c", 1}}});
  pool.devices.edit()[0].counters = {{.set = "s1", .counters = {{"c", 1}}}};
  rig.want(pool);
  rig.settle();
  REQUIRE(rig.writes.size() == 2);
  CHECK(rig.writes[0].slice.counters.size() == 2);
  CHECK(rig.writes[1].slice.devices.size() == 1);
  rig.writes.clear();
  rig.now += 1h;
  pool.counters.pop_back();
  pool.devices.edit()[0].counters.clear();
  rig.want(pool);
  rig.settle();
  REQUIRE(rig.writes.size() == 2);
  CHECK(rig.writes[0].slice.devices.size() == 1);
  CHECK(rig.writes[1].slice.counters.size() == 1);
}

TEST_CASE("what is in force is not deleted before what comes after it") {
  SliceRig rig = published_rig(65);
  rig.writes.clear();
  rig.fails = [](const SliceWrite& write) { return write.what == What::kUpdate ? 500 : 0; };
  rig.want(pool_of(10));
  rig.settle(10s);
  CHECK(rig.count(What::kDelete) == 0);
  CHECK(rig.server.size() == 2);
  // But for what is another driver's, which nobody counts with it.
  rig.owner.driver = "e.example";
  rig.keeper.own(rig.owner);
  rig.fails = [](const SliceWrite& write) { return write.what == What::kCreate ? 500 : 0; };
  rig.list();
  rig.settle(10s);
  CHECK(rig.server.empty());
}

TEST_CASE("a counter that becomes another comes before the devices that use it, too") {
  SliceRig rig = published_rig(0);
  Pool pool = pool_of(1);
  pool.counters = {{.name = "s", .counters = {{"c", 1}}}};
  pool.devices.edit()[0].counters = {{.set = "s", .counters = {{"c", 1}}}};
  rig.want(pool);
  rig.settle();
  REQUIRE(rig.published());
  rig.writes.clear();
  rig.now += 1h;
  pool.counters[0].counters["c"] = 2;
  pool.devices.edit()[0].counters[0].counters["c"] = 2;
  rig.want(pool);
  rig.settle();
  REQUIRE(rig.writes.size() == 2);
  CHECK(rig.writes[0].slice.counters.size() == 1);
  CHECK(rig.writes[1].slice.devices.size() == 1);
}

TEST_CASE("the pause after a change is an eighth of a second for each slice of it, and a second at most") {
  for (const auto& each : {std::pair(1U, 125ms), std::pair(3U, 375ms), std::pair(10U, 1000ms)}) {
    const std::size_t slices = each.first;
    CAPTURE(slices);
    SliceRig rig = published_rig(64 * slices);
    rig.now += 1h;
    Pool pool = pool_of(64 * slices);
    for (const char* const model : {"one", "two"}) {
      for (PoolDevice& device : pool.devices.edit()) device.attributes["model"] = std::string(model);
      rig.want(pool);
      rig.go();
    }
    CHECK(rig.keeper.due() == rig.now + each.second);
  }
}

TEST_CASE("of two pools that wait the first one to come is what is due") {
  for (const char* const failing : {"node-a/p", "node-a/q"}) {
    CAPTURE(failing);
    SliceRig rig;
    const auto pools = [](std::size_t count) {
      return std::vector<Pool>{pool_of(count, "node-a/p"), pool_of(count, "node-a/q")};
    };
    rig.keeper.want(pools(1), {});
    rig.list();
    rig.settle();
    rig.now += 1h;
    rig.fails = [&](const SliceWrite& write) { return write.slice.pool == failing ? 500 : 0; };
    rig.keeper.want(pools(2), {});
    rig.go();
    rig.keeper.want(pools(3), {});
    rig.go();
    CHECK(rig.keeper.due() == rig.now + 125ms);
  }
}
