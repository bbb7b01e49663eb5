#include "daemon/supervisor/supervisor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "unit/daemon/scan/shown_machine.hpp"
#include "unit/kubernetes/kubelet/telling_kubelet.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;

// A node without resources, whose kubelet reports the holders.
struct RunningNode {
  test::TempDir dir;
  test::Process process;
  std::shared_ptr<test::Machine> machine = std::make_shared<test::Machine>();
  test::TellingKubelet kubelet{dir.at("pods.sock")};
  Supervisor supervisor{process.platform, config(), DrainFile(dir.path()), [] {}};
  std::optional<DaemonStatus> told;

  Config config() const {
    Config config;
    config.kubelet = {.directory = dir.path(), .pod_resources = dir.at("pods.sock")};
    return config;
  }
  // Returns a configuration with one device, which is given by CDI.
  Config with_specification(const std::string& directory) const {
    Config made = config();
    made.cdi_directory = dir.at(directory);
    ResourceConfig entry = test::entry_of(machine);
    AllocationSpec spec = *entry.spec;
    spec.cdi = CdiNames::kCri;
    spec.env = {{Template("HAS_{id}"), Template("1")}};
    entry.spec = std::make_shared<const AllocationSpec>(spec);
    made.resources = {entry};
    return made;
  }
  std::size_t specifications(const std::string& directory) const {
    std::error_code none;
    const std::filesystem::directory_iterator files(dir.at(directory), none);
    return none ? 0 : static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
  // Adds an entry with one device. Returns true if its resource is served.
  bool serves_one() {
    machine->show({.devices = {{.id = "a"}}});
    Config one = config();
    one.resources = {test::entry_of(machine)};
    supervisor.apply(one);
    return test::run_until(process.loop, [&] { return supervisor.summary().resources == 1; });
  }
  void ask(WithHolders with) {
    told.reset();
    supervisor.query_status(with, [this](DaemonStatus status) { told = std::move(status); });
  }
  bool tells() {
    return test::run_until(process.loop, [&] { return told.has_value(); });
  }
};

TEST_CASE("supervisor: a status without holders is returned at once, whatever the kubelet does") {
  RunningNode running;
  running.kubelet.hold(true);
  running.ask(WithHolders::kNo);
  REQUIRE(running.told);
  CHECK_FALSE(running.told->holdings);
  CHECK(running.kubelet.calls().empty());
}

TEST_CASE("supervisor: a status with a short deadline does not wait for a silent kubelet") {
  RunningNode running;
  running.kubelet.add("x.com/a", "one");
  SUBCASE("the kubelet responds") {
    running.ask(WithHolders::kIfToldSoon);
    REQUIRE(running.tells());
    REQUIRE(running.told->holdings);
    CHECK(running.told->holdings->contains("x.com/a"));
  }
  SUBCASE("the kubelet does not respond") {
    running.kubelet.hold(true);
    const auto begun = EventLoop::Clock::now();
    running.ask(WithHolders::kIfToldSoon);
    REQUIRE(running.tells());
    CHECK(EventLoop::Clock::now() - begun < PodResources::kDeadline);
    CHECK_FALSE(running.told->holdings);
    CHECK(running.told->holders_unknown == "the kubelet has not told within 500 ms");
  }
}

TEST_CASE("supervisor: a status that needs the holders waits for them") {
  RunningNode running;
  running.kubelet.add("x.com/a", "one");
  running.kubelet.hold(true);
  running.ask(WithHolders::kYes);
  REQUIRE(test::run_until(running.process.loop, [&] { return running.kubelet.calls().size() == 1; }));
  CHECK_FALSE(running.told);
  running.kubelet.hold(false);
  REQUIRE(running.tells());
  CHECK(running.told->holdings);
}

TEST_CASE("supervisor: a resource of two entries belongs to the first, and after its removal to the other") {
  RunningNode running;
  const auto other = std::make_shared<test::Machine>();
  const auto type = [](const char* id) {
    return Scan{.devices = {{.id = id, .attributes = {{"type", "one"}, {"sort", "one"}}}}};
  };
  running.machine->show(type("a"));
  other->show(type("b"));
  Config both = running.config();
  both.resources = {test::entry_of(running.machine, "x.com/{type}")};
  running.supervisor.apply(both);
  const auto listed = [&](const std::string& id) {
    return test::run_until(running.process.loop, [&] {
      running.ask(WithHolders::kNo);
      return running.told->resources.size() == 1 && running.told->resources[0].snapshot->inventory.find(id);
    });
  };
  REQUIRE(listed("a"));
  both.resources.push_back(test::entry_of(other, "x.com/{sort}"));
  running.supervisor.apply(both);
  REQUIRE(test::run_until(running.process.loop, [&] {
    running.ask(WithHolders::kNo);
    return std::ranges::any_of(running.told->entries, [](const EntryStatus& entry) {
      return entry.error == "x.com/one: x.com/{type} () serves it already";
    });
  }));
  CHECK(listed("a"));
  both.resources.erase(both.resources.begin());
  running.supervisor.apply(both);
  test::pass(running.process.loop, 1s);  // the end of a burst, and then a scan
  test::pass(running.process.loop, 1s);
  CHECK(listed("b"));
}

TEST_CASE(
    "supervisor: a fixed name belongs to its entry before the first scan, and until the entry's removal") {
  RunningNode running;
  const auto other = std::make_shared<test::Machine>();
  running.machine->hang(true);
  other->show({.devices = {{.id = "b", .attributes = {{"type", "one"}}}}});
  Config both = running.config();
  both.resources = {test::entry_of(running.machine, "x.com/one"), test::entry_of(other, "x.com/{type}")};
  running.supervisor.apply(both);
  const auto entry_says = [&](const std::string& error) {
    running.ask(WithHolders::kNo);
    return std::ranges::any_of(running.told->entries,
                               [&](const EntryStatus& entry) { return entry.error == error; });
  };
  REQUIRE(test::run_until(running.process.loop,
                          [&] { return entry_says("x.com/one: x.com/one () serves it already"); }));
  CHECK(running.supervisor.summary().resources == 0);
  both.resources.erase(both.resources.begin());
  running.supervisor.apply(both);
  test::pass(running.process.loop, 1s);
  test::pass(running.process.loop, 1s);
  CHECK(test::run_until(running.process.loop, [&] { return running.supervisor.summary().resources == 1; }));
  running.machine->hang(false);
}

TEST_CASE("supervisor: an id that two resources list is reported once") {
  RunningNode running;
  const auto other = std::make_shared<test::Machine>();
  running.machine->show({.devices = {{.id = "same"}}});
  other->show({.devices = {{.id = "same"}}});
  Config both = running.config();
  both.resources = {test::entry_of(running.machine), test::entry_of(other, "x.com/b")};
  const std::uint64_t before = running.process.log.warnings().count();
  running.supervisor.apply(both);
  REQUIRE(test::run_until(running.process.loop, [&] { return running.supervisor.summary().resources == 2; }));
  for (int i = 0; i < 3; ++i) test::pass(running.process.loop, 1s);
  running.supervisor.apply(both);
  for (int i = 0; i < 3; ++i) test::pass(running.process.loop, 1s);
  CHECK(running.process.log.warnings().count() == before + 1);
}

TEST_CASE("supervisor: every entry is scanned again once a minute") {
  RunningNode running;
  REQUIRE(running.serves_one());
  const int before = running.machine->scans();
  test::pass(running.process.loop, Supervisor::kSafetyInterval);
  CHECK(test::run_until(running.process.loop, [&] { return running.machine->scans() > before; }));
}

TEST_CASE("supervisor: after a stop there are no resources, and the end is reported") {
  RunningNode running;
  REQUIRE(running.serves_one());
  bool ended = false;
  running.supervisor.stop([&] { ended = true; });
  CHECK(test::run_until(running.process.loop, [&] { return ended; }));
  CHECK(running.supervisor.summary().resources == 0);
}

TEST_CASE("supervisor: CDI specifications stay in their former directory until they exist in the new one") {
  RunningNode running;
  running.machine->show({.devices = {{.id = "a"}}});
  running.supervisor.apply(running.with_specification("first"));
  REQUIRE(test::run_until(running.process.loop, [&] { return running.specifications("first") == 1; }));
  bool nowhere = false;
  const auto move = [&](const std::string& from, const std::string& to) {
    running.supervisor.apply(running.with_specification(to));
    return test::run_until(running.process.loop, [&] {
      nowhere = nowhere || running.specifications("first") + running.specifications("second") == 0;
      return running.specifications(from) == 0 && running.specifications(to) == 1;
    });
  };
  SUBCASE("to a new directory") { CHECK(move("first", "second")); }
  SUBCASE("to a new directory, and back before the first move has ended") {
    running.supervisor.apply(running.with_specification("second"));
    CHECK(move("second", "first"));
  }
  SUBCASE("to a new directory, while a scan of the machine stalls") {
    running.machine->hang(true);
    CHECK(move("first", "second"));
    running.machine->hang(false);
  }
  CHECK_FALSE(nowhere);
}

}  // namespace
}  // namespace plughost
