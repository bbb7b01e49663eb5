#include "daemon/scan/scanner.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/scan/shown_machine.hpp"
#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::entry_of;
using test::Machine;
using test::Process;
using Clock = Scanner::Clock;

// The scanner's reports in order: "found a b", "failed: why", "stalled".
struct Told : Scanner::Owner {
  std::vector<std::string> words;
  std::map<std::string, Inventory> lists;
  std::vector<std::string> errors;  // errors of the devices in the last result
  HeldIds held;
  Clock::time_point change_at = ScanSchedule::kNever;

  std::map<std::string, Inventory> listed() const override { return lists; }
  Scanner::Siblings siblings() const override { return {}; }
  void prepare(const std::function<void(HeldIds held)>& then) override { then(held); }
  Clock::time_point on_found(Scanner::Found& found) override {
    words.emplace_back("found");
    errors.clear();
    for (const auto& [resource, devices] : found.assembly.resources) {
      for (const Device& device : devices) {
        words.back() += ' ' + device.id + (device.away ? " (away)" : "");
        errors.push_back(device.error);
      }
      lists[resource] = Inventory(devices);
    }
    return change_at;
  }
  void on_failed(const std::string& why) override { words.push_back("failed: " + why); }
  void on_stalled() override { words.emplace_back("stalled"); }
};

struct Rig {
  explicit Rig(HostRoot host = HostRoot()) : process(std::move(host)) {}

  Process process;
  std::shared_ptr<Machine> machine = std::make_shared<Machine>();
  Told told;

  std::unique_ptr<Scanner> scanner(std::chrono::milliseconds deadline = 1min, ScanSchedule former = {}) {
    return std::make_unique<Scanner>(process.platform, entry_of(machine), told, former, deadline);
  }
  bool says(std::size_t times) {
    return test::run_until(process.loop, [&] { return told.words.size() >= times; });
  }
};

TEST_CASE("the devices that a scan finds are reported, and no further scan is due") {
  Rig rig;
  rig.machine->show({.devices = {{.id = "a"}, {.id = "b"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(1));
  CHECK(rig.told.words[0] == "found a b");
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
}

TEST_CASE("a further scan follows a request, the time of a known change, rescan_after, and a failure") {
  Rig rig;
  SUBCASE("request_scan() is called") {
    const auto scanner = rig.scanner();
    REQUIRE(rig.says(1));
    scanner->request_scan();
    CHECK(rig.says(2));
  }
  SUBCASE("on_found() returns the time of the next change") {
    rig.told.change_at = Clock::now() + 150ms;
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() >= rig.told.change_at);
  }
  SUBCASE("the scan's rescan_after is 1 s") {
    rig.machine->show({.rescan_after = 1s});
    const auto begin = Clock::now();
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() - begin >= 1s);
  }
  SUBCASE("the scan fails") {
    rig.machine->fail("no such thing");
    const auto begin = Clock::now();
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() - begin >= 1s);
    CHECK(rig.told.words == std::vector<std::string>{"failed: no such thing", "failed: no such thing"});
  }
}

TEST_CASE("a second scan follows when a directory's watch begins, and a further scan follows each change") {
  Rig rig;
  const test::TempDir dir;
  rig.machine->show({.watch = {{.path = dir.path(), .name = "*"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(2));  // the second scan was not requested
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
  dir.file("new");
  REQUIRE(rig.says(3));
  // Paths that are no longer scanned are no longer watched.
  rig.machine->show({});
  dir.file("newer");
  REQUIRE(rig.says(4));
  dir.file("newest");
  test::run_once(rig.process.loop);
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
}

TEST_CASE("a source is at rest after its scanner has ended, and from rest(true) to rest(false)") {
  Rig rig;
  auto scanner = rig.scanner();
  REQUIRE(rig.says(1));
  CHECK(rig.machine->at_rest() == false);
  scanner->rest(true);
  CHECK(rig.machine->at_rest() == true);
  REQUIRE(rig.says(2));  // a change of the rest leads to a scan
  scanner->rest(true);
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
  scanner->rest(false);
  CHECK(rig.machine->at_rest() == false);
  REQUIRE(rig.says(3));
  scanner.reset();
  CHECK(rig.machine->at_rest() == true);
  // A new scanner of the entry ends the rest.
  scanner = rig.scanner();
  CHECK(rig.machine->at_rest() == false);
}

TEST_CASE("a device in another network namespace is away, not gone, while the hardware has its driver") {
  const test::MadeSysfs machine;
  const std::string card = "/sys/devices/pci0000:00/0000:03:00.0";
  machine.device(card, "pci");
  machine.bind(card, "mlx5_core");
  machine.device(card + "/net/eth0", "net");
  Device b{.id = "b"};
  b.hardware.edit().in_namespace = {card + "/infiniband", card + "/net"};
  Rig rig(machine.host());
  rig.machine->show({.devices = {{.id = "a"}, b, {.id = "c"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(1));
  std::size_t looks = 1;
  const auto looks_again = [&] {
    scanner->request_scan();
    REQUIRE(rig.says(++looks));
    return rig.told.words.back();
  };
  CHECK(rig.told.words.back() == "found a b c");
  rig.machine->show({.devices = {{.id = "c"}, {.id = "d"}}});
  SUBCASE("an interface or the RDMA device of the card is not visible here") {
    CHECK(looks_again() == "found b (away) c d");
    CHECK(rig.told.errors ==
          std::vector<std::string>{"it, or its interface, is in another network namespace", "", ""});
    CHECK(looks_again() == "found b (away) c d");
    rig.machine->show({.devices = {b}});
    CHECK(looks_again() == "found b");
  }
  SUBCASE("all of the card is visible here, maybe by a new name, so the entry no longer selects it") {
    machine.device(card + "/infiniband/rocep3s0", "infiniband");
    CHECK(looks_again() == "found c d");
  }
  SUBCASE("no driver is bound to the card") {
    machine.tree().remove(card + "/driver");
    CHECK(looks_again() == "found c d");
  }
  SUBCASE("the card is pulled out") {
    machine.remove(card);
    CHECK(looks_again() == "found c d");
  }
}

TEST_CASE("a scan that takes too long is reported, and its result is used when it arrives") {
  Rig rig;
  rig.machine->hang(true);
  const auto scanner = rig.scanner(20ms);
  REQUIRE(rig.says(1));
  CHECK(rig.told.words[0] == "stalled");
  CHECK(scanner->schedule().stalled());
  SUBCASE("the scan finds a device") {
    rig.machine->show({.devices = {{.id = "a"}}});
    rig.machine->hang(false);
    REQUIRE(rig.says(2));
    CHECK(rig.told.words[1] == "found a");
  }
  SUBCASE("the scan fails") {
    rig.machine->fail("the driver gave up");
    rig.machine->hang(false);
    REQUIRE(rig.says(2));
    CHECK(rig.told.words[1] == "failed: the driver gave up");
  }
  CHECK_FALSE(scanner->schedule().stalled());
}

TEST_CASE(
    "the end of a replaced scanner's stalled scan is not reported, and the new scanner's result ends the "
    "stall") {
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
  Scanner next(process.platform, entry_of(good), told, former, 1min);
  CHECK(next.schedule().stalled());  // until the next result
  REQUIRE(test::run_until(process.loop, [&] { return !told.words.empty(); }));
  CHECK(told.words[0] == "found good");
  CHECK_FALSE(next.schedule().stalled());

  // The former scan ends later, without a report.
  rig.machine->hang(false);
  next.request_scan();
  REQUIRE(test::run_until(process.loop, [&] { return told.words.size() == 2; }));
  CHECK(rig.told.words == std::vector<std::string>{"stalled"});
}

}  // namespace
}  // namespace plughost
