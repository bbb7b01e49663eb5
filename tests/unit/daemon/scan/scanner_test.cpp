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

TEST_CASE("the result of a scan is reported, with the names of the entry") {
  Rig rig;
  rig.machine->show({.devices = {{.id = "a"}, {.id = "b"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(1));
  CHECK(rig.told.words[0] == "found a b");
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
}

TEST_CASE("a request leads to another scan, and so does what a scan or its consumer requests") {
  Rig rig;
  SUBCASE("a hint") {
    const auto scanner = rig.scanner();
    REQUIRE(rig.says(1));
    scanner->request_scan();
    CHECK(rig.says(2));
  }
  SUBCASE("what changes by itself") {
    rig.told.change_at = Clock::now() + 150ms;
    const auto scanner = rig.scanner();
    CHECK(rig.says(2));
    CHECK(Clock::now() >= rig.told.change_at);
  }
  SUBCASE("a scan that says when to look again") {
    rig.machine->show({.rescan_after = 1s});
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

TEST_CASE("changes before a directory is watched are found, and then every change") {
  Rig rig;
  const test::TempDir dir;
  rig.machine->show({.watch = {{.path = dir.path(), .name = "*"}}});
  const auto scanner = rig.scanner();
  REQUIRE(rig.says(2));  // the second one was not requested
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

TEST_CASE("a source is at rest when its scanner has ended, and while it is told so") {
  Rig rig;
  auto scanner = rig.scanner();
  REQUIRE(rig.says(1));
  CHECK(rig.machine->at_rest() == false);
  scanner->rest(true);
  CHECK(rig.machine->at_rest() == true);
  REQUIRE(rig.says(2));  // another scan reports that
  scanner->rest(true);
  CHECK(scanner->schedule().due() == ScanSchedule::kNever);
  scanner->rest(false);
  CHECK(rig.machine->at_rest() == false);
  REQUIRE(rig.says(3));
  scanner.reset();
  CHECK(rig.machine->at_rest() == true);
  // The entry returns.
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
  SUBCASE("an interface of it, or its RDMA device, is not shown here") {
    CHECK(looks_again() == "found b (away) c d");
    CHECK(rig.told.errors ==
          std::vector<std::string>{"it, or its interface, is in another network namespace", "", ""});
    CHECK(looks_again() == "found b (away) c d");
    rig.machine->show({.devices = {b}});
    CHECK(looks_again() == "found b");
  }
  SUBCASE("all of it is shown here, maybe by a new name: the entry takes it no more") {
    machine.device(card + "/infiniband/rocep3s0", "infiniband");
    CHECK(looks_again() == "found c d");
  }
  SUBCASE("no driver is bound to it") {
    machine.tree().remove(card + "/driver");
    CHECK(looks_again() == "found c d");
  }
  SUBCASE("it is pulled out") {
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

TEST_CASE("a replaced source is destroyed with its hanging scan") {
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

  // The former scan ends after all, without a report.
  rig.machine->hang(false);
  next.request_scan();
  REQUIRE(test::run_until(process.loop, [&] { return told.words.size() == 2; }));
  CHECK(rig.told.words == std::vector<std::string>{"stalled"});
}

}  // namespace
}  // namespace plughost
