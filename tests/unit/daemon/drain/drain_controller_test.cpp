#include "daemon/drain/drain_controller.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const DrainSet::Name kDevice{.resource = "x.com/a", .device = "0"};

// A daemon that has started with the drain file of an earlier daemon. It lists kDevice.
struct Started : DrainController::Owner {
  explicit Started(const TempDir& tree)
      : drain_controller(loop, workers, log, DrainFile(tree.path()), *this) {}

  std::vector<SharedSnapshot> snapshots() const override { return {snapshot}; }
  void read_holdings(HoldingsReader::Done done) override {
    done({.holdings = std::make_shared<const Holdings>()});
  }
  void on_drains() override { ++changes; }
  void forgive(const DrainSet::Name&) override { ++forgiven; }

  DrainAnswer order(const DrainOrder& order) {
    std::optional<DrainAnswer> answer;
    drain_controller.carry_out(order, [&](const DrainAnswer& told) { answer = told; });
    REQUIRE(run_until(loop, [&] { return answer.has_value(); }));
    return *answer;
  }
  DrainAnswer carry_out(std::optional<DrainOrder::Terms> terms) {
    const DrainAnswer answer =
        order({.resource = kDevice.resource, .device = kDevice.device, .terms = std::move(terms)});
    CHECK(answer.error.empty());
    CHECK(answer.unsaved.empty());
    return answer;
  }
  void drain(std::optional<std::chrono::seconds> duration) {
    const DrainAnswer answer = carry_out(DrainOrder::Terms{.reason = "the fan", .duration = duration});
    REQUIRE(answer.drain.has_value());
    CHECK(answer.drain->reason == "the fan");
    CHECK(answer.drain->until.has_value() == duration.has_value());
    REQUIRE(answer.devices.size() == 1);
    CHECK(answer.devices[0].id == kDevice.device);
    CHECK(answer.holdings);
  }

  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  Workers workers{loop, 1};
  SharedSnapshot snapshot = std::make_shared<const ResourceSnapshot>(
      ResourceSnapshot{.resource = kDevice.resource, .inventory = Inventory({{.id = kDevice.device}})});
  int changes = 0;
  int forgiven = 0;
  DrainController drain_controller;
};

DrainSet written(const TempDir& tree) { return DrainFile(tree.path()).read().drains; }

}  // namespace

TEST_CASE("a drain and an undrain survive a restart of the daemon") {
  const TempDir tree;
  {
    Started first(tree);
    first.drain(std::nullopt);
    CHECK(first.changes == 1);
  }
  {
    Started second(tree);
    CHECK(second.drain_controller.drains().find(kDevice));
    CHECK(second.changes == 0);
    CHECK_FALSE(second.carry_out(std::nullopt).drain.has_value());
    CHECK_FALSE(second.drain_controller.drains().find(kDevice));
    CHECK(second.changes == 1);
    CHECK(second.forgiven == 0);
  }
  const Started third(tree);
  CHECK_FALSE(third.drain_controller.drains().find(kDevice));
}

TEST_CASE("a drain ends when its time is over, and is removed from the file") {
  const TempDir tree;
  Started daemon(tree);
  daemon.drain(1s);
  CHECK(daemon.drain_controller.drains().find(kDevice));
  REQUIRE(run_until(daemon.loop, [&] { return !daemon.drain_controller.drains().find(kDevice); }));
  CHECK(daemon.changes == 2);
  CHECK(run_until(daemon.loop, [&] { return written(tree).count() == 0; }));
}

TEST_CASE("while a drain has an end, the wall clock is checked every minute, because it may be set") {
  const Drain::Clock::time_point now = Drain::Clock::now();
  CHECK(DrainController::wait_for(now + 5s, now) == 5s);
  CHECK(DrainController::wait_for(now + 1h, now) == 60s);
  CHECK(DrainController::wait_for(now - 1h, now) == 0s);
}

TEST_CASE("a second drain of a device replaces the first drain's duration") {
  const TempDir tree;
  Started daemon(tree);
  daemon.drain(std::nullopt);
  daemon.drain(1s);
  CHECK(run_until(daemon.loop, [&] { return !daemon.drain_controller.drains().find(kDevice); }));
}

TEST_CASE("a drain whose time ended while plughost was not running is removed at the start") {
  const TempDir tree;
  DrainSet drains;
  drains.set(kDevice, {.reason = "", .since = Drain::Clock::now() - 2h, .until = Drain::Clock::now() - 1h});
  REQUIRE(DrainFile(tree.path()).write(drains.text()) == "");
  Started daemon(tree);
  CHECK(daemon.drain_controller.drains() == DrainSet());
  CHECK(daemon.changes == 0);
  CHECK(run_until(daemon.loop, [&] { return written(tree).count() == 0; }));
}

TEST_CASE("a drain whose terms are damaged stays, without an end, and is saved again") {
  const TempDir tree;
  tree.file("drains.json",
            R"({"version":1,"drains":[{"resource":"x.com/a","device":"0","since":"then","until":"soon"}]})");
  Started daemon(tree);
  REQUIRE(daemon.drain_controller.drains().find(kDevice));
  CHECK_FALSE(daemon.drain_controller.drains().find(kDevice)->until);
  CHECK_FALSE(daemon.drain_controller.drains().unreadable());
  CHECK(daemon.log.errors().count() == 1);
  CHECK(std::filesystem::exists(tree.at("drains.json.broken")));
  CHECK(run_until(daemon.loop, [&] { return written(tree) == daemon.drain_controller.drains(); }));
}

TEST_CASE("if the names of drained devices are lost, every device is drained until somebody decides") {
  const TempDir tree;
  SUBCASE("the file ends early") { tree.file("drains.json", R"({"version":1,"drains":[{"resou)"); }
  SUBCASE("the file is empty") { tree.file("drains.json", ""); }
  SUBCASE("the file cannot be read") { tree.directory("drains.json"); }
  SUBCASE("an item has no names") { tree.file("drains.json", R"({"version":1,"drains":[{}]})"); }
  {
    Started daemon(tree);
    REQUIRE(daemon.drain_controller.drains().unreadable());
    CHECK(daemon.log.errors().count() == 1);
    CHECK(run_until(daemon.loop, [&] { return written(tree).unreadable() != nullptr; }));
  }
  Started again(tree);  // the decision outlives a restart
  REQUIRE(again.drain_controller.drains().unreadable());
  CHECK(again.log.errors().count() == 0);
  CHECK(again.order({.resource = "x.com/a", .device = "0", .terms = std::nullopt}).error ==
        "x.com/a=0 is drained together with every device: drain those that must stay out, then `plughost "
        "undrain "
        "--unreadable`");
  CHECK(again.order({.resource = "x.com/a", .device = "0", .terms = DrainOrder::Terms{}}).error.empty());
  CHECK(again.order({}).error.empty());
  CHECK_FALSE(again.drain_controller.drains().unreadable());
  CHECK(again.drain_controller.drains().find(kDevice));
  CHECK(again.order({}).error ==
        "all drained devices are known: nothing is drained because of a damaged file");
}

TEST_CASE("a whole resource is drained and undrained, and a device's own drain is independent of that") {
  const TempDir tree;
  Started daemon(tree);
  const DrainOrder whole{
      .resource = "x.com/a", .device = {}, .terms = DrainOrder::Terms{.reason = "the rack"}};
  daemon.snapshot = std::make_shared<const ResourceSnapshot>(ResourceSnapshot{
      .resource = kDevice.resource,
      .inventory = Inventory({{.id = "0"}, {.id = "1", .error = "sick"}, {.id = "2", .error = "sick"}})});
  const DrainAnswer answer = daemon.order(whole);
  CHECK(answer.name.text() == "x.com/a");
  REQUIRE(answer.devices.size() == 1);  // none is held, and one sick device suffices
  CHECK(answer.devices[0].id == "1");
  CHECK(daemon.order({.resource = "x.com/a", .device = "0", .terms = std::nullopt}).error ==
        "x.com/a=0 is drained together with every device of x.com/a: drain those that must stay out, then "
        "`plughost undrain x.com/a`");
  daemon.drain(std::nullopt);
  CHECK_FALSE(daemon.order({.resource = "x.com/a", .device = {}, .terms = std::nullopt}).drain);
  CHECK(daemon.drain_controller.drains().find(kDevice));
  CHECK(daemon.drain_controller.drains().count() == 1);
  DrainOrder other = whole;
  other.resource = "x.com/b";
  CHECK(daemon.order(other).error == "there is no resource x.com/b; there is x.com/a");
}

TEST_CASE("a second drain of a device names the drain that it replaces") {
  const TempDir tree;
  Started daemon(tree);
  const DrainOrder order{
      .resource = "x.com/a", .device = "0", .terms = DrainOrder::Terms{.reason = "the fan"}};
  CHECK(daemon.order(order).former.empty());
  CHECK(daemon.order(order).former == "drained: the fan");
  CHECK(daemon.order(order).json()["former"].text() == "drained: the fan");
}

TEST_CASE("an undrain clears the lasting fault of a device that is not drained, and saves nothing") {
  const TempDir tree;
  Started daemon(tree);
  daemon.snapshot = std::make_shared<const ResourceSnapshot>(
      ResourceSnapshot{.resource = kDevice.resource,
                       .inventory = Inventory({{.id = kDevice.device, .error = "XID 79", .lasting = true}})});
  const DrainAnswer answer = daemon.carry_out(std::nullopt);
  CHECK(daemon.forgiven == 1);
  CHECK(daemon.changes == 0);
  REQUIRE(answer.devices.size() == 1);
  CHECK(answer.devices[0].error.empty());
  CHECK_FALSE(std::filesystem::exists(tree.at("drains.json")));
}

TEST_CASE("an order for an unknown device is refused, and changes nothing") {
  const TempDir tree;
  Started daemon(tree);
  std::string error;
  daemon.drain_controller.carry_out({.resource = "x.com/a", .device = "7", .terms = DrainOrder::Terms{}},
                                    [&](const DrainAnswer& told) { error = told.error; });
  CHECK(error == "there is no device of x.com/a 7; there is 0");
  CHECK(daemon.changes == 0);
}
