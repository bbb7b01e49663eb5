#include "supervisor/scanner.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = Scanner::Clock;

// A machine that the test tells what it shows. Thread-safe.
class Machine {
 public:
  void show(Scan scan) {
    const std::lock_guard lock(mutex_);
    scan_ = std::move(scan);
  }
  void fail(std::string why) {
    const std::lock_guard lock(mutex_);
    why_ = std::move(why);
  }
  // Scans that begin from now on do not end until it is let go.
  void hang(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }
  int scans() const {
    const std::lock_guard lock(mutex_);
    return scans_;
  }

  Scan scan() {
    std::unique_lock lock(mutex_);
    ++scans_;
    changed_.wait(lock, [this] { return !hangs_; });
    if (!why_.empty()) throw std::runtime_error(why_);
    return scan_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Scan scan_;
  std::string why_;
  bool hangs_ = false;
  int scans_ = 0;
};

class Source final : public DeviceSource {
 public:
  explicit Source(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  Scan scan(const HostRoot&) const override { return machine_->scan(); }

 private:
  std::shared_ptr<Machine> machine_;
};

ResourceConfig entry_of(const std::shared_ptr<Machine>& machine) {
  Recipe recipe;
  recipe.name = Template("x.com/a");
  ResourceConfig entry;
  entry.recipe = std::make_shared<const Recipe>(recipe);
  entry.source = std::make_shared<const Source>(machine);
  return entry;
}

// A process without resources. What hangs must have been let go before it ends.
struct Process {
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Programs programs{loop};
  DirWatcher directories{loop, [](const std::string&) {}};
  HostRoot host;
  UdevMonitor devices{loop, directories, host, [](const std::string&) {}};
  Tallies tallies;
  ApiServer api_server{loop, workers, programs, log};
  NodeWatch node_watch{api_server};
  Notifier notifier;
  DescriptorStore descriptors{notifier};
  Platform platform{loop, log,     workers,    programs,   directories, devices,
                    host, tallies, api_server, node_watch, descriptors};
};

// What a scanner has told, in order: "found a b", "failed: why", "stalled".
struct Told {
  std::vector<std::string> words;
  HeldIds held;
  Clock::time_point change_at = ScanSchedule::kNever;

  Scanner::Hooks hooks() {
    return {.listed = [] { return std::map<std::string, Inventory>(); },
            .prepare = [this](const auto& then) { then(held); },
            .found =
                [this](Scanner::Found& found) {
                  words.emplace_back("found");
                  for (const auto& [resource, devices] : found.assembly.resources)
                    for (const Device& device : devices) words.back() += ' ' + device.id;
                  return change_at;
                },
            .failed = [this](const std::string& why) { words.push_back("failed: " + why); },
            .stalled = [this] { words.emplace_back("stalled"); }};
  }
};

struct Rig {
  Process process;
  std::shared_ptr<Machine> machine = std::make_shared<Machine>();
  Told told;

  std::unique_ptr<Scanner> scanner(std::chrono::milliseconds deadline = 1min, ScanSchedule former = {}) {
    return std::make_unique<Scanner>(process.platform, entry_of(machine), told.hooks(), former, deadline);
  }
  bool says(std::size_t times) {
    return test::run_until(process.loop, [&] { return told.words.size() >= times; });
  }
};

TEST_CASE("what a scan finds is told, with the names that the entry gives it") {
  Rig rig;
  rig.machine->show({.devices = {{.id = "a"}, {.id = "b"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(1));
  CHECK(rig.told.words[0] == "found a b");
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
}

TEST_CASE("a hint brings another scan, and so does what a scan or its finder asks for") {
  Rig rig;
  SUBCASE("a hint") {
    const auto scanner = rig.scanner();
    REQUIRE(rig.says(1));
    scanner->hint();
    CHECK(rig.says(2));
  }
  SUBCASE("what changes by itself") {
    rig.told.change_at = Clock::now() + 150ms;
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() >= rig.told.change_at);
  }
  SUBCASE("a scan that says when to look again") {
    rig.machine->show({.look_again = 1s});
    const auto begin = Clock::now();
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() - begin >= 1s);
  }
  SUBCASE("a failure") {
    rig.machine->fail("no such thing");
    const auto begin = Clock::now();
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() - begin >= 1s);
    CHECK(rig.told.words == std::vector<std::string>{"failed: no such thing", "failed: no such thing"});
  }
}

TEST_CASE("what changed before it was watched is seen, and then every change") {
  Rig rig;
  const test::TempDir dir;
  rig.machine->show({.watch = {{.path = dir.path(), .name = "*"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(2));  // the second one was not asked for
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
  dir.file("new");
  REQUIRE(rig.says(3));
  // What is not asked for any more is followed no more.
  rig.machine->show({});
  dir.file("newer");
  REQUIRE(rig.says(4));
  dir.file("newest");
  test::run_once(rig.process.loop);
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
}

TEST_CASE("a scan that takes too long is told of, and its result is used if it comes") {
  Rig rig;
  rig.machine->hang(true);
  const auto scanner = rig.scanner(20ms);
  REQUIRE(rig.says(1));
  CHECK(rig.told.words[0] == "stalled");
  CHECK(scanner->schedule().stalled());
  SUBCASE("it finds something") {
    rig.machine->show({.devices = {{.id = "a"}}});
    rig.machine->hang(false);
    REQUIRE(rig.says(2));
    CHECK(rig.told.words[1] == "found a");
  }
  SUBCASE("it fails") {
    rig.machine->fail("the driver gave up");
    rig.machine->hang(false);
    REQUIRE(rig.says(2));
    CHECK(rig.told.words[1] == "failed: the driver gave up");
  }
  CHECK_FALSE(scanner->schedule().stalled());
}

TEST_CASE("a source that is replaced takes the scan that hangs with it") {
  Rig rig;
  rig.machine->hang(true);
  auto scanner = rig.scanner(20ms);
  REQUIRE(rig.says(1));
  const ScanSchedule former = scanner->schedule();
  scanner.reset();

  Process& process = rig.process;
  const auto good = std::make_shared<Machine>();
  good->show({.devices = {{.id = "good"}}});
  Told told;
  Scanner next(process.platform, entry_of(good), told.hooks(), former, 1min);
  CHECK(next.schedule().stalled());  // until there is another answer
  REQUIRE(test::run_until(process.loop, [&] { return !told.words.empty(); }));
  CHECK(told.words[0] == "found good");
  CHECK_FALSE(next.schedule().stalled());

  // The former one ends after all, and nobody hears of it.
  rig.machine->hang(false);
  next.hint();
  REQUIRE(test::run_until(process.loop, [&] { return told.words.size() == 2; }));
  CHECK(rig.told.words == std::vector<std::string>{"stalled"});
}

}  // namespace
}  // namespace plughost
