// What the API server refuses, drops or does not answer.

#include <doctest/doctest.h>

#include "unit/dra/slice_rig.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("a new slice that cannot be made leaves in force what is there") {
  SliceRig rig = published_rig(64);
  rig.fails = [](const SliceWrite& write) { return write.what == What::kCreate ? 500 : 0; };
  rig.want(pool_of(65));
  rig.settle(1min);
  CHECK(rig.devices()->size() == 64);
  CHECK(rig.keeper.pools().at(kPool).trouble == "code 500");
  rig.fails = [](const SliceWrite&) { return 0; };
  rig.settle();
  CHECK(rig.devices()->size() == 65);
  CHECK(rig.keeper.pools().at(kPool).trouble.empty());
}

TEST_CASE("what failed is tried again after a second, then twice as late, and at most every 30 s") {
  SliceRig rig = published_rig(1);
  rig.fails = [](const SliceWrite&) { return 500; };
  rig.want(pool_of(2));
  std::chrono::milliseconds longest = 1s;
  for (int tries = 0; tries < 8; ++tries) {
    CHECK(rig.go() == 1);
    REQUIRE(rig.keeper.due());
    const auto wait = *rig.keeper.due() - rig.now;
    CHECK(wait >= longest / 2);
    CHECK(wait <= longest);
    longest = std::min<std::chrono::milliseconds>(longest * 2, 30s);
    rig.now = *rig.keeper.due();
  }
  CHECK(rig.keeper.pools().at(kPool).trouble == "code 500");
  rig.fails = [](const SliceWrite&) { return 0; };
  CHECK(rig.go() == 1);
  CHECK(rig.keeper.pools().at(kPool).trouble.empty());
  rig.fails = [](const SliceWrite&) { return 500; };
  rig.want(pool_of(3));
  rig.now += 1s;
  CHECK(rig.go() == 1);
  CHECK(*rig.keeper.due() - rig.now <= 1s);
}

TEST_CASE("what is shown as it should be has no trouble, even if its write is not answered yet") {
  SliceRig rig = published_rig(1);
  rig.fails = [](const SliceWrite&) { return 500; };
  rig.want(pool_of(2));
  rig.go();
  REQUIRE_FALSE(rig.keeper.pools().at(kPool).trouble.empty());
  rig.fails = [](const SliceWrite&) { return 0; };
  rig.now = *rig.keeper.due();
  const auto writes = rig.keeper.next(rig.now);
  REQUIRE(writes.size() == 1);
  rig.keeper.changed(*rig.answer(writes[0]).shown, rig.now);
  CHECK(rig.published());
  CHECK(rig.keeper.pools().at(kPool).trouble.empty());
}

TEST_CASE("Retry-After is kept to") {
  SliceRig rig = published_rig(1);
  rig.want(pool_of(2));
  const auto writes = rig.keeper.next(rig.now);
  REQUIRE(writes.size() == 1);
  rig.keeper.answered(writes[0].name, {.code = 429, .trouble = "too many", .retry_after = 17s}, rig.now);
  CHECK(rig.go() == 0);
  CHECK(*rig.keeper.due() == rig.now + 17s);
}

TEST_CASE("a server that cannot be reached is asked as soon as it is there again") {
  SliceRig rig;
  rig.keeper.want({pool_of(1), pool_of(1, "node-a/q")}, {});
  rig.list();
  rig.fails = [](const SliceWrite&) { return -1; };
  rig.settle(5min);
  CHECK(rig.go() == 0);
  rig.fails = [](const SliceWrite&) { return 0; };
  rig.keeper.server_back();
  CHECK(rig.settle(200ms) == 2);

  rig.fails = [](const SliceWrite&) { return -1; };
  rig.keeper.want({pool_of(2), pool_of(2, "node-a/q")}, {});
  rig.now += 1h;
  rig.settle(5min);
  rig.fails = [](const SliceWrite&) { return 0; };
  rig.now = *rig.keeper.due();
  CHECK(rig.settle(200ms) == 2);  // the first that is answered says that it is there
}

TEST_CASE("what is refused for good is not sent again before it is another") {
  for (const int code : {400, 413, 422}) {
    SliceRig rig = published_rig(1);
    rig.fails = [&](const SliceWrite&) { return code; };
    rig.want(pool_of(2));
    CHECK(rig.settle() == 1);
    CHECK_FALSE(rig.keeper.due());
    CHECK(rig.keeper.pools().at(kPool).trouble == "code " + std::to_string(code));
    rig.fails = [](const SliceWrite&) { return 0; };
    rig.list();
    CHECK(rig.settle() == 0);
    rig.want(pool_of(3));
    rig.now += 1s;
    CHECK(rig.settle() == 1);
    CHECK(rig.keeper.pools().at(kPool).trouble.empty());
  }
}

TEST_CASE("a write after a create that is forbidden is tried again, and told only if it goes on") {
  SliceRig rig = published_rig(1);
  unsigned forbidden = 2;
  rig.fails = [&](const SliceWrite&) { return forbidden > 0 ? (--forbidden, 403) : 0; };
  rig.want(pool_of(2));
  CHECK(rig.go() == 1);
  CHECK(rig.keeper.pools().at(kPool).trouble.empty());
  CHECK(rig.settle() == 2);
  CHECK(rig.published());
  rig.fails = [](const SliceWrite&) { return 403; };
  rig.want(pool_of(3));
  rig.now += 1s;
  rig.settle(10s);
  CHECK(rig.keeper.pools().at(kPool).trouble == "code 403");
}

TEST_CASE("after a conflict it is read what is there, and that is replaced") {
  SliceRig rig = published_rig(1);
  Slice other = rig.server.at(name_of(0)).slice;
  other.devices.edit().clear();
  rig.stored(other);  // the watch has not said so yet
  rig.want(pool_of(2));
  CHECK(rig.settle() == 3);
  CHECK(rig.writes[0].what == What::kUpdate);
  CHECK(rig.writes[1].what == What::kRead);
  CHECK(rig.writes[2].what == What::kUpdate);
  CHECK(rig.published());
}

TEST_CASE("a slice that was there all the time, and was not listed, is not made twice") {
  SliceRig rig = published_rig(1);
  rig.keeper.listed({});
  CHECK(rig.settle() == 2);
  CHECK(rig.writes[0].what == What::kCreate);
  CHECK(rig.writes[1].what == What::kRead);
  CHECK(rig.published());
}

TEST_CASE(
    "a slice that is gone when it is read after a conflict is made again, though a node is told 403 of it") {
  SliceRig rig = published_rig(1);
  bool conflict = true;
  rig.fails = [&](const SliceWrite& write) {
    if (write.what == What::kRead && !rig.server.contains(write.name)) return 403;
    return std::exchange(conflict, false) ? 409 : 0;
  };
  rig.after_write = [&] {
    if (rig.writes.size() == 1) rig.remove(name_of(0));
  };
  rig.want(pool_of(2));
  rig.settle(10s);
  REQUIRE(rig.writes.size() == 3);
  CHECK(rig.writes[0].what == What::kUpdate);
  CHECK(rig.writes[1].what == What::kRead);
  CHECK(rig.writes[2].what == What::kCreate);
  CHECK(rig.published());
}

TEST_CASE("conflicts without end are not written without end") {
  SliceRig rig = published_rig(1);
  rig.fails = [](const SliceWrite& write) { return write.what == What::kRead ? 0 : 409; };
  rig.want(pool_of(2));
  CHECK(rig.settle(1min) < 40);
}

TEST_CASE("a slice that has our name and is another's is left alone, and told") {
  SliceRig rig;
  rig.owner.driver = "other.example";
  rig.stored({.name = name_of(0), .pool = kPool});
  rig.owner = kOwner;
  rig.want(pool_of(1));
  rig.list();
  CHECK(rig.go() == 2);
  CHECK(rig.keeper.pools().at(kPool).trouble.find("is there already, of the driver other.example") !=
        std::string::npos);
  CHECK(*rig.keeper.due() == rig.now + 30s);
  rig.remove(name_of(0));
  CHECK(rig.settle() == 1);
  CHECK(rig.published());
}

TEST_CASE("what failed once is forgotten when a write has come through") {
  SliceRig rig = published_rig(1);
  unsigned forbidden = 3;
  rig.fails = [&](const SliceWrite&) { return forbidden > 0 ? (--forbidden, 403) : 0; };
  rig.want(pool_of(2));
  rig.settle();
  REQUIRE(rig.published());
  // A single refusal is none to speak of again.
  forbidden = 1;
  rig.now += 1min;
  rig.want(pool_of(3));
  CHECK(rig.go() == 1);
  CHECK(rig.keeper.pools().at(kPool).trouble.empty());
  rig.settle();
  CHECK(rig.published());
}

TEST_CASE("a slice that cannot be made, or deleted, is tried with pauses") {
  SliceRig rig;
  rig.fails = [](const SliceWrite&) { return 404; };
  rig.want(pool_of(1));
  CHECK_FALSE(rig.published());  // nothing is listed
  rig.list();
  CHECK(rig.go() == 1);
  CHECK(rig.keeper.pools().at(kPool).trouble == "code 404");
  rig.fails = [](const SliceWrite&) { return 0; };
  rig.settle();
  REQUIRE(rig.published());
  rig.fails = [](const SliceWrite&) { return 500; };
  rig.keeper.want({}, {});
  CHECK(rig.go() == 1);
  REQUIRE(rig.keeper.due());
  CHECK(*rig.keeper.due() >= rig.now + 500ms);
  CHECK_FALSE(rig.keeper.clean());
}

TEST_CASE("a feature that one slice shows to be off is off, whatever another one says") {
  SliceRig rig;
  rig.kept.taints = false;
  rig.kept.sharing = false;
  Pool pool = pool_of(65);
  pool.devices.edit()[0].taints = {{.key = "k", .value = "v"}};
  pool.devices.edit()[0].several_claims = true;
  rig.want(pool);
  rig.list();
  rig.settle();
  CHECK(rig.keeper.take_dropped() == DraFeatures{.taints = false, .sharing = false});
  CHECK(rig.keeper.take_dropped() == DraFeatures{});
}

TEST_CASE("what the API server drops is noticed and not written again") {
  SliceRig rig = published_rig(1);
  rig.kept = {.taints = false, .sharing = false};
  Pool pool = pool_of(1);
  pool.devices.edit()[0].taints = {{.key = "k"}};
  pool.devices.edit()[0].several_claims = true;
  rig.want(pool);
  CHECK(rig.settle() == 1);
  CHECK(rig.published());
  CHECK(rig.keeper.take_dropped() == DraFeatures{.taints = false, .sharing = false});
  CHECK(rig.keeper.take_dropped() == DraFeatures{});
  rig.list();
  CHECK(rig.settle() == 0);
  rig.edit(name_of(0), [](Slice& slice) { slice.devices.edit()[0].attributes["x"] = true; });
  CHECK(rig.settle() == 1);
}
