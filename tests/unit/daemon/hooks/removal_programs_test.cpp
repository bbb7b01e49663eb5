#include "daemon/hooks/device_programs.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "unit/daemon/hooks/waiting_programs.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

// Devices that a shell script clears. $1 is the test's directory and $2 the device's id.
struct Cleared {
  test::TempDir dir;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kAuto};
  Programs programs{loop};
  RemovalPrograms removals{programs, log};
  ResourceSnapshot snapshot{.resource = "x.com/a",
                            .inventory = Inventory({{.id = "a"}, {.id = "b", .replicas = 3}})};
  bool done = false;

  explicit Cleared(const std::string& script, std::chrono::milliseconds timeout = 1min) {
    AllocationSpec spec;
    spec.on_remove = ProgramSpec{.timeout = timeout};
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                    std::string("sh"), dir.path().string(), std::string("{id}")})
      spec.on_remove->command.emplace_back(word);
    snapshot.spec = std::make_shared<const AllocationSpec>(spec);
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(dir.at(file)); }
  void finish(std::chrono::milliseconds limit) {
    removals.finish(limit, [this] { done = true; });
    CHECK_FALSE(done);
    REQUIRE(test::run_until(loop, [this] { return done; }));
  }
};

}  // namespace

TEST_CASE("the onRemove program runs once for each device") {
  Cleared disks("echo >> $1/cleared-$2");
  disks.removals.run(disks.snapshot);
  disks.finish(1min);
  CHECK(std::filesystem::file_size(disks.dir.at("cleared-a")) == 1);
  CHECK(std::filesystem::file_size(disks.dir.at("cleared-b")) == 1);
}

TEST_CASE("a program that fails or hangs does not prevent others from running") {
  Cleared disks(
      "[ $2 != a ] || { touch $1/begun; exec sleep 1000; }; while [ ! -e $1/begun ]; do sleep 0.01; done; "
      "touch $1/cleared-$2; exit 1",
      300ms);
  disks.removals.run(disks.snapshot);
  disks.finish(1min);
  CHECK(disks.exists("cleared-b"));
  CHECK_FALSE(disks.exists("cleared-a"));
}

TEST_CASE("finish() waits for running programs for a limited time, and then kills them") {
  Cleared disks("echo $$ > $1/written-$2; mv $1/written-$2 $1/pid-$2; exec sleep 1000");
  disks.removals.run(disks.snapshot);
  REQUIRE(test::run_until(disks.loop, [&] { return disks.exists("pid-a") && disks.exists("pid-b"); }));
  const auto begun = EventLoop::Clock::now();
  disks.finish(200ms);
  CHECK(EventLoop::Clock::now() - begun >= 200ms);
  pid_t pid = 0;
  std::ifstream(disks.dir.at("pid-a")) >> pid;
  CHECK(test::run_until(disks.loop, [&] { return ::kill(pid, 0) != 0; }));
}

TEST_CASE("finish() waits for nothing if the entry has no onRemove program") {
  Cleared disks("touch $1/cleared-$2");
  disks.snapshot.spec = std::make_shared<const AllocationSpec>();
  disks.removals.run(disks.snapshot);
  disks.finish(1min);
  CHECK_FALSE(disks.exists("cleared-a"));
}

TEST_CASE("devices are cleared at most sixteen at a time") {
  Cleared disks(test::kWaiting);
  std::vector<Device> many(50);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id = std::to_string(100 + i);
  disks.snapshot.inventory = Inventory(many);
  disks.removals.run(disks.snapshot);
  CHECK(test::only_run(disks.loop, disks.dir, 16));
  test::let_go(disks.dir);
  disks.finish(1min);
  CHECK(test::begun(disks.dir) == 50);
}

TEST_CASE(
    "when the time of finish() is over, each uncleared device is reported, and no further program starts") {
  Cleared disks(test::kWaiting);
  std::vector<Device> many(20);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id = std::to_string(100 + i);
  disks.snapshot.inventory = Inventory(many);
  disks.removals.run(disks.snapshot);
  REQUIRE(test::run_until(disks.loop, [&] { return test::begun(disks.dir) == 16; }));
  disks.finish(50ms);
  CHECK(disks.log.warnings().count() == 20);
  test::let_go(disks.dir);
  test::run_until(
      disks.loop, [&] { return test::begun(disks.dir) > 16; }, 200ms);
  CHECK(test::begun(disks.dir) == 16);
}

TEST_CASE("onRemove: a device is cleared by its own entry's program") {
  Cleared first("touch $1/first-$2"), second("touch $1/second-$2");
  first.snapshot.inventory = Inventory({{.id = "a", .terms = first.snapshot.spec},
                                        {.id = "b", .terms = second.snapshot.spec},
                                        {.id = "c", .terms = std::make_shared<const AllocationSpec>()}});
  first.removals.run(first.snapshot);
  first.finish(1min);
  CHECK(first.exists("first-a"));
  CHECK_FALSE(first.exists("first-b"));
  CHECK(second.exists("second-b"));
  CHECK_FALSE(first.exists("first-c"));
}
