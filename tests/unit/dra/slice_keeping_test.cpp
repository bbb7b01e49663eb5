// What others do with slices, and what is heard late: in the end all is as it is wanted.

#include <doctest/doctest.h>

#include <array>
#include <deque>

#include "unit/dra/slice_rig.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("what is wiped is made again at once, and of a second wipe, too") {
  SliceRig rig = published_rig(130);
  for (int wipes = 0; wipes < 2; ++wipes) {
    for (std::size_t i = 0; i < 3; ++i) {
      rig.remove(name_of(i));
      rig.go();
    }
    const auto from = rig.now;
    rig.settle();
    CHECK(rig.now - from < 1s);
    CHECK(rig.published());
    CHECK(rig.devices()->size() == 130);
    CHECK(rig.server.at(name_of(0)).slice.generation == 1);
    rig.now += 5s;
  }
  CHECK(rig.count(What::kCreate) == 6);
  CHECK(rig.writes.size() == 6);
}

TEST_CASE("a slice that somebody changes is changed back, and with pauses if that goes on") {
  SliceRig rig = published_rig(2);
  const auto break_it = [&] { rig.edit(name_of(0), [](Slice& slice) { slice.devices.edit().pop_back(); }); };
  for (unsigned i = 0; i < SliceKeeper::kAtOnce; ++i) {
    break_it();
    CHECK(rig.go() == 1);
    rig.now += 1s;
  }
  break_it();
  CHECK(rig.go() == 0);
  CHECK(*rig.keeper.due() == rig.now + 500ms);
  rig.now += 500ms;
  CHECK(rig.go() == 1);
  break_it();
  CHECK(rig.go() == 0);
  CHECK(*rig.keeper.due() == rig.now + 1s);
  for (int i = 0; i < 20; ++i) {
    rig.settle();
    break_it();
    rig.go();
    CHECK(*rig.keeper.due() <= rig.now + 30s);
  }
  rig.settle();
  CHECK(rig.published());
  rig.now += SliceKeeper::kLeftAlone + 1s;
  break_it();
  CHECK(rig.go() == 1);
}

TEST_CASE(
    "what is changed by hand is noticed in every part: generation, count, owner, and what is not ours") {
  SliceRig rig = published_rig(2);
  rig.edit(name_of(0), [](Slice& slice) { slice.generation = 99; });
  CHECK(rig.settle() == 1);
  CHECK(rig.server.at(name_of(0)).slice.generation == 1);
  rig.edit(name_of(0), [](Slice& slice) { slice.slices = 7; });
  CHECK(rig.settle() == 1);
  rig.owner.node_uid = "other";
  rig.edit(name_of(0), [](Slice&) {});
  CHECK(rig.settle() == 1);
  rig.now += 2min;
  rig.extra = true;
  rig.edit(name_of(0), [](Slice&) {});
  CHECK(rig.settle() == 1);  // what the server adds is not written again
  CHECK(rig.published());
}

TEST_CASE("a Node that is made anew owns the slices, and while there is none nothing is made") {
  SliceRig rig = published_rig(1);
  rig.keeper.own({.driver = kOwner.driver, .node = kOwner.node, .node_uid = ""});
  rig.remove(name_of(0));
  CHECK(rig.settle() == 0);
  CHECK_FALSE(rig.published());
  rig.owner.node_uid = "uid-2";
  rig.keeper.own(rig.owner);
  CHECK(rig.settle() == 1);
  rig.owner.node_uid = "uid-3";
  rig.keeper.own(rig.owner);
  CHECK(rig.settle() == 1);
  CHECK(rig.count(What::kUpdate) == 1);
  CHECK(rig.published());
}

TEST_CASE("slices of other drivers and nodes are not touched, and those of a driver before are deleted") {
  SliceRig rig;
  rig.owner.driver = "other.example";
  rig.stored({.name = "foreign", .pool = kPool});
  rig.owner = kOwner;
  rig.owner.node = "node-b";
  rig.stored({.name = "of-b", .pool = kPool});
  rig.owner = kOwner;
  rig.stored({.name = "left-over", .pool = kPool});
  rig.want(pool_of(1));
  rig.list();
  CHECK(rig.settle() == 2);
  CHECK(rig.server.contains("foreign"));
  CHECK(rig.server.contains("of-b"));
  CHECK_FALSE(rig.server.contains("left-over"));
  CHECK(rig.writes.back().what == What::kDelete);

  rig.owner.driver = "e.example";
  rig.keeper.own(rig.owner);
  CHECK(rig.settle() == 0);  // it has not been listed
  rig.list();
  CHECK(rig.settle() == 2);
  CHECK_FALSE(rig.server.contains(name_of(0)));
  CHECK(rig.server.contains(slice_name(0, "e.example", "node-a", kPool)));
  CHECK(rig.keeper.clean());
}

TEST_CASE("slices of a driver before go, also of a pool that is not decided yet") {
  SliceRig rig = published_rig(1);
  rig.owner.driver = "e.example";
  rig.keeper.own(rig.owner);
  rig.keeper.want({}, {kPool});
  rig.list();
  CHECK_FALSE(rig.keeper.clean());
  CHECK(rig.settle() == 1);
  CHECK(rig.server.empty());
}

TEST_CASE("a slice of another name is no place of the pool's, though it says that it is of it") {
  SliceRig rig;
  rig.stored({.name = "00005-0123456789abcdef", .pool = kPool, .devices = pool_of(1).devices});
  rig.want(pool_of(1));
  rig.list();
  rig.settle();
  CHECK(rig.published());
  CHECK(rig.server.size() == 1);
  CHECK(rig.server.contains(name_of(0)));
}

TEST_CASE("one of ours that has the name, but belongs to another pool, is deleted and made anew") {
  SliceRig rig;
  rig.stored({.name = name_of(0), .pool = "node-a/q"});
  rig.want(pool_of(1));
  rig.list();
  rig.settle();
  CHECK(rig.writes[0].what == What::kDelete);
  CHECK(rig.writes[1].what == What::kCreate);
  CHECK(rig.published());
}

TEST_CASE("an older word about a slice changes nothing") {
  SliceRig rig = published_rig(1);
  const ShownSlice former = rig.server.at(name_of(0));
  rig.want(pool_of(2));
  rig.settle();
  rig.keeper.changed(former, rig.now);
  CHECK(rig.settle() == 0);
  rig.keeper.gone(former, rig.now);
  CHECK(rig.settle() == 0);
  rig.keeper.listed({former});
  CHECK(rig.settle() == 0);
  CHECK(rig.published());
}

TEST_CASE("what changes while a write is under way is written after it, and nothing twice") {
  SliceRig rig = published_rig(1);
  rig.want(pool_of(2));
  auto writes = rig.keeper.next(rig.now);
  REQUIRE(writes.size() == 1);
  rig.want(pool_of(3));
  rig.now += 1s;
  CHECK(rig.keeper.next(rig.now).empty());
  // The watch may be quicker than the answer.
  const SliceAnswer said = rig.answer(writes[0]);
  rig.keeper.changed(*said.shown, rig.now);
  CHECK(rig.keeper.next(rig.now).empty());
  rig.keeper.answered(name_of(0), said, rig.now);
  CHECK(rig.settle() == 1);
  CHECK(rig.devices()->size() == 3);
}

TEST_CASE("whatever happens, a pool that only changes its content is whole, and all is right in the end") {
  std::minstd_rand random(17);
  const auto dice = [&](unsigned sides) { return static_cast<unsigned>(random() % sides); };
  for (int rounds = 0; rounds < 60; ++rounds) {
    SliceRig rig = published_rig(130);
    bool disturbed = false;  // by somebody else
    rig.after_write = [&] {
      if (!disturbed) CHECK(rig.devices());
    };
    Pool pool = pool_of(130);
    unsigned next_device = 1000;
    for (int steps = 0; steps < 40; ++steps) {
      switch (dice(6)) {
        case 0:
          pool.devices.edit().erase(pool.devices.edit().begin() +
                                    dice(static_cast<unsigned>(pool.devices.size())));
          break;
        case 1:
          if (pool.devices.size() >= 150) break;
          // A new one, or one that was there before.
          if (dice(2) == 0) {
            pool.devices.edit().push_back({.name = "n" + std::to_string(next_device++)});
          } else if (const std::string former = "d" + std::to_string(dice(130));
                     std::ranges::find(pool.devices, former, &PoolDevice::name) == pool.devices.end()) {
            pool.devices.edit().push_back({.name = former});
          }
          break;
        case 2:
          pool.devices.edit()[dice(static_cast<unsigned>(pool.devices.size()))].attributes["a"] =
              static_cast<std::int64_t>(dice(1000));
          break;
        case 3:
          rig.fails = [&, code = std::array{0, 0, -1, 500, 403, 409}[dice(6)]](const SliceWrite& write) {
            return write.what == What::kRead ? 0 : code;
          };
          break;
        case 4:
          if (rounds % 2 == 0 || rig.server.empty()) break;
          disturbed = true;
          rig.remove(std::next(rig.server.begin(), dice(static_cast<unsigned>(rig.server.size())))->first);
          break;
        case 5:
          rig.now += std::chrono::milliseconds(dice(3000));
          break;
      }
      rig.want(pool);
      rig.go();
    }
    rig.fails = [](const SliceWrite&) { return 0; };
    rig.settle();
    CHECK(rig.published());
    REQUIRE(rig.devices());
    CHECK(rig.devices()->size() == pool.devices.size());
    CHECK(rig.keeper.clean());
    CHECK_FALSE(rig.keeper.due());
  }
}

TEST_CASE("an answer that comes after the word that its slice is gone does not bring it back") {
  for (const bool is_update : {false, true}) {
    SliceRig rig = published_rig(65);
    if (is_update)
      rig.edit(name_of(0), [](Slice& slice) { slice.devices.edit().pop_back(); });
    else
      rig.remove(name_of(0));
    const auto writes = rig.keeper.next(rig.now);
    REQUIRE(writes.size() == 1);
    CHECK(writes[0].what == (is_update ? What::kUpdate : What::kCreate));
    const SliceAnswer said = rig.answer(writes[0]);
    rig.remove(name_of(0));
    rig.keeper.answered(name_of(0), said, rig.now);
    CHECK_FALSE(rig.published());
    CHECK(rig.settle() == 1);
    CHECK(rig.server.contains(name_of(0)));
    CHECK(rig.published());
  }
}

TEST_CASE("what was deleted before our slice was made is told late, and does not take ours away") {
  SliceRig rig = published_rig(1);
  const ShownSlice former = rig.server.at(name_of(0));
  rig.remove(name_of(0));
  const auto writes = rig.keeper.next(rig.now);
  REQUIRE(writes.size() == 1);
  rig.keeper.gone(former, rig.now);  // of another one that had the name
  const SliceAnswer said = rig.answer(writes[0]);
  rig.keeper.answered(name_of(0), said, rig.now);
  rig.keeper.gone(former, rig.now);
  CHECK(rig.published());
  CHECK(rig.settle() == 0);
}

TEST_CASE("a slice that was read before it was changed or deleted is taken as it was told since") {
  for (const bool is_removed : {false, true}) {
    SliceRig rig = published_rig(1);
    rig.keeper.listed({});
    const auto creates = rig.keeper.next(rig.now);
    REQUIRE(creates.size() == 1);
    rig.make(creates[0]);  // a conflict
    const auto reads = rig.keeper.next(rig.now);
    REQUIRE(reads.size() == 1);
    CHECK(reads[0].what == What::kRead);
    const SliceAnswer said = rig.answer(reads[0]);
    if (is_removed)
      rig.remove(name_of(0));
    else
      rig.edit(name_of(0), [](Slice& slice) { slice.devices.edit().clear(); });
    rig.keeper.answered(name_of(0), said, rig.now);
    CHECK_FALSE(rig.published());
    CHECK(rig.settle() == 1);
    CHECK(rig.devices()->size() == 1);
    CHECK(rig.published());
  }
}

TEST_CASE("a slice that is not in a list is not there, though the answer to its write comes after it") {
  SliceRig rig = published_rig(1);
  rig.want(pool_of(2));
  const auto writes = rig.keeper.next(rig.now);
  REQUIRE(writes.size() == 1);
  const SliceAnswer said = rig.answer(writes[0]);
  rig.server.clear();
  rig.list();
  rig.keeper.answered(name_of(0), said, rig.now);
  CHECK_FALSE(rig.published());
  rig.settle();
  CHECK(rig.devices()->size() == 2);
}

TEST_CASE("a slice that is not there when it is written is made, before the watch says that it is gone") {
  SliceRig rig = published_rig(1);
  rig.server.clear();
  rig.want(pool_of(2));
  CHECK(rig.settle() == 2);
  CHECK(rig.writes[0].what == What::kUpdate);
  CHECK(rig.writes[1].what == What::kCreate);
  CHECK(rig.published());
}

TEST_CASE("what somebody makes with the name of a slice that we delete is deleted, too") {
  for (const int code : {0, 404}) {
    SliceRig rig = published_rig(1);
    rig.keeper.want({}, {});
    const auto writes = rig.keeper.next(rig.now);
    REQUIRE(writes.size() == 1);
    const Slice slice = rig.server.at(name_of(0)).slice;
    SliceAnswer said = rig.answer(writes[0]);
    if (code != 0) said = {.code = code, .trouble = "not found"};
    rig.keeper.changed(rig.stored(slice), rig.now);
    rig.keeper.answered(name_of(0), said, rig.now);
    CHECK_FALSE(rig.keeper.clean());
    rig.settle();
    CHECK(rig.server.empty());
    CHECK(rig.keeper.clean());
  }
}

namespace {

// What the API server does and what is heard of it, each in its time: requests, their answers, and the events
// of the watch, which alone are in order.
struct Network {
  struct Request {
    SliceWrite write;
    std::optional<SliceAnswer> answer;  // once it was done
  };
  struct Event {
    bool gone = false;
    ShownSlice shown;
  };
  SliceRig rig;
  std::vector<Request> requests;
  std::deque<Event> events;
  std::optional<std::vector<ShownSlice>> list;  // that has not come; the watch goes on from there

  void act(const std::function<void()>& action) {
    const auto before = rig.server;
    action();
    for (auto [name, shown] : before) {
      if (rig.server.contains(name)) continue;
      shown.resource_version = std::to_string(rig.version);
      events.push_back({.gone = true, .shown = shown});
    }
    for (const auto& [name, shown] : rig.server) {
      const auto former = before.find(name);
      if (former == before.end() || former->second.resource_version != shown.resource_version)
        events.push_back({.gone = false, .shown = shown});
    }
  }
  void remove(const std::string& name) {
    act([&] {
      rig.server.erase(name);
      ++rig.version;
    });
  }
  void serve(std::size_t index) {
    Request& request = requests[index];
    if (!request.answer) act([&] { request.answer = rig.answer(request.write); });
  }
  void deliver_answer(std::size_t index) {
    const Request request = requests[index];
    requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(index));
    rig.keeper.answered(request.write.name, *request.answer, rig.now);
  }
  void deliver_event() {
    if (list) {
      rig.keeper.listed(*std::exchange(list, std::nullopt));
      return;
    }
    if (events.empty()) return;
    const Event event = events.front();
    events.pop_front();
    if (event.gone)
      rig.keeper.gone(event.shown, rig.now);
    else
      rig.keeper.changed(event.shown, rig.now);
  }
  void begin_list() {
    list.emplace();
    for (const auto& [name, shown] : rig.server) list->push_back(shown);
    events.clear();
  }
  void go() {
    for (SliceWrite& write : rig.keeper.next(rig.now))
      requests.push_back({.write = std::move(write), .answer = std::nullopt});
  }
};

}  // namespace

TEST_CASE("in whatever order answers, events and lists come, what is believed in the end is what is there") {
  std::minstd_rand random(4);
  const auto dice = [&](std::size_t sides) { return static_cast<std::size_t>(random() % sides); };
  for (int rounds = 0; rounds < 400; ++rounds) {
    CAPTURE(rounds);
    Network network{.rig = published_rig(65), .requests = {}, .events = {}, .list = std::nullopt};
    SliceRig& rig = network.rig;
    const std::map<std::string, ShownSlice> former = rig.server;
    std::size_t devices = 65;
    for (int steps = 0; steps < 80; ++steps) {
      const auto of_server = [&] {
        return std::next(rig.server.begin(), static_cast<std::ptrdiff_t>(dice(rig.server.size())))->first;
      };
      switch (dice(12)) {
        case 0:
          if (!rig.server.empty()) network.remove(of_server());
          break;
        case 1:
          while (dice(3) == 0 && !rig.server.empty()) network.remove(of_server());
          break;
        case 2:
          if (rig.server.empty()) break;
          network.act([&] {
            Slice slice = rig.server.at(of_server()).slice;
            if (!slice.devices.empty()) slice.devices.edit().pop_back();
            rig.stored(std::move(slice));
          });
          break;
        case 3:
          if (const std::string name = name_of(dice(2)); dice(3) == 0 && !rig.server.contains(name))
            network.act([&] { rig.stored(former.at(name).slice); });
          break;
        case 4:
          if (dice(4) != 0) break;
          devices = std::array<std::size_t, 4>{0, 20, 65, 66}[dice(4)];
          if (devices == 0)
            rig.keeper.want({}, {});
          else
            rig.want(pool_of(devices));
          break;
        case 5:
          if (dice(6) == 0 && !network.list) network.begin_list();
          break;
        case 6:
          rig.now += std::chrono::milliseconds(dice(2000));
          break;
        case 7:
        case 8:
          if (!network.requests.empty()) network.serve(dice(network.requests.size()));
          break;
        case 9:
          if (network.requests.empty()) break;
          if (const std::size_t index = dice(network.requests.size()); network.requests[index].answer) {
            if (dice(8) == 0) network.requests[index].answer = SliceAnswer{.code = 0, .trouble = "lost"};
            network.deliver_answer(index);
          }
          break;
        default:
          network.deliver_event();
          break;
      }
      if (dice(3) == 0) network.go();
    }
    while (!network.requests.empty() || !network.events.empty() || network.list) {
      if (!network.requests.empty() && (dice(2) == 0 || (network.events.empty() && !network.list))) {
        const std::size_t index = dice(network.requests.size());
        network.serve(index);
        network.deliver_answer(index);
      } else {
        network.deliver_event();
      }
    }
    const auto published = [&] { return devices == 0 || rig.published(); };
    const SliceKeeper believing = rig.keeper;
    const std::pair believed(published(), rig.keeper.clean());
    rig.list();
    REQUIRE(believed == std::pair(published(), rig.keeper.clean()));
    rig.keeper = believing;
    for (int waits = 0; waits < 1000; ++waits) {
      network.go();
      while (!network.requests.empty() || !network.events.empty()) {
        while (!network.events.empty()) network.deliver_event();
        if (network.requests.empty()) continue;
        network.serve(0);
        network.deliver_answer(0);
        network.go();
      }
      if (!rig.keeper.due()) break;
      rig.now = std::max(rig.now, *rig.keeper.due());
    }
    CHECK_FALSE(rig.keeper.due());
    REQUIRE(rig.keeper.clean());
    if (devices == 0) {
      REQUIRE(rig.server.empty());
    } else {
      REQUIRE(rig.published());
      REQUIRE(rig.devices());
      REQUIRE(rig.devices()->size() == devices);
    }
  }
}
