#include "daemon/supervisor/resource_controller.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/supervisor/running.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::Running;

Device of_type(const char* id, const char* type) { return {.id = id, .attributes = {{"type", type}}}; }

TEST_CASE("controller: a new resource is listed after the scan that found it, however long the scan takes") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  const int before = running.machine->scans();
  running.machine->show({.devices = {of_type("a", "one"), of_type("b", "two")}});
  running.machine->hang_at(before + 1);
  running.entry->request_scan();
  REQUIRE(running.scanned(before + 1));
  test::pass(running.process.loop, 1s);
  running.machine->hang(false);
  CHECK(running.lists({"x.com/one", "x.com/two"}));
  // No further scan is requested.
  test::run_until(
      running.process.loop, [&] { return running.machine->scans() > before + 1; }, 300ms);
  CHECK(running.machine->scans() == before + 1);
}

TEST_CASE("controller: a scan that fails leaves the list unchanged, is counted, and is retried") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  running.machine->fail("the directory is gone");
  running.entry->request_scan();
  REQUIRE(test::run_until(running.process.loop, [&] { return running.status().scans_failed == 1; }));
  CHECK(running.resources() == std::set<std::string>{"x.com/one"});
  CHECK(running.status().error == "device scan failed: the directory is gone");
  CHECK(running.status().error_at);
  running.machine->fail("");
  running.machine->show({.devices = {of_type("b", "two")}});
  test::pass(running.process.loop, 1s);
  CHECK(running.lists({"x.com/one", "x.com/two"}));
  CHECK(running.status().scans_failed == 1);
}

TEST_CASE("controller: while a scan stalls, the list stays, and requests are refused with the reason") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  CHECK(running.stall("x.com/one").empty());
  running.machine->hang(true);
  running.entry->request_scan();
  REQUIRE(running.scanned(2));
  test::pass(running.process.loop, Scanner::kDeadline - 100ms);
  CHECK_FALSE(running.status().stalled);
  test::pass(running.process.loop, 100ms);
  REQUIRE(test::run_until(running.process.loop, [&] { return running.status().stalled; }));
  CHECK(running.stall("x.com/one").starts_with("its device scan has not ended within 5 s"));
  SUBCASE("requests are accepted when the scan has ended") {
    running.machine->hang(false);
    REQUIRE(test::run_until(running.process.loop, [&] { return !running.status().stalled; }));
    CHECK(running.stall("x.com/one").empty());
  }
  SUBCASE("a drain does not wait for the scan") {
    running.drains.set({"x.com/one", "a"}, {.reason = "the fan", .since = {}});
    running.entry->on_overlay();
    REQUIRE(running.device("x.com/one", "a"));
    CHECK(running.device("x.com/one", "a")->reason() == "drained: the fan");
    CHECK(running.machine->scans() == 2);
    running.machine->hang(false);
  }
}

TEST_CASE("controller: a source is at rest exactly while all of its devices are drained") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one"), of_type("b", "two")}});
  running.start();
  REQUIRE(running.lists({"x.com/one", "x.com/two"}));
  const auto drain = [&](const char* resource, const char* device) {
    running.drains.set({resource, device}, {.reason = "", .since = {}});
    running.entry->on_overlay();
  };
  drain("x.com/one", "a");
  CHECK(running.machine->at_rest() == false);
  drain("x.com/two", "b");
  CHECK(running.machine->at_rest() == true);
  SUBCASE("one device is back in service") {
    running.drains.remove({"x.com/one", "a"});
    running.entry->on_overlay();
    CHECK(running.machine->at_rest() == false);
  }
  SUBCASE("one device is gone, and the other one is drained") {
    running.machine->show({.devices = {of_type("b", "two")}});
    running.entry->request_scan();
    REQUIRE(test::run_until(running.process.loop, [&] { return running.device("x.com/one", "a")->gone; }));
    running.drains.remove({"x.com/one", "a"});
    running.entry->on_overlay();
    CHECK(running.machine->at_rest() == true);
  }
  SUBCASE("a new device appears") {
    running.machine->show({.devices = {of_type("a", "one"), of_type("b", "two"), of_type("c", "two")}});
    running.entry->request_scan();
    CHECK(test::run_until(running.process.loop, [&] { return running.machine->at_rest() == false; }));
  }
  SUBCASE("all devices are gone, so that none of them is drained") {
    running.machine->show({});
    running.entry->request_scan();
    CHECK(test::run_until(running.process.loop, [&] { return running.machine->at_rest() == false; }));
  }
}

TEST_CASE("controller: a device that is gone is listed as gone, and forgotten after its time") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one"), of_type("b", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  running.machine->show({.devices = {of_type("b", "one")}});
  running.entry->request_scan();
  REQUIRE(test::run_until(running.process.loop, [&] { return running.device("x.com/one", "a")->gone; }));
  CHECK_FALSE(running.device("x.com/one", "a")->healthy());
  test::pass(running.process.loop, running.entry->config().spec->forget_after);
  CHECK(test::run_until(running.process.loop, [&] { return !running.device("x.com/one", "a"); }));
  CHECK(running.device("x.com/one", "b"));
}

TEST_CASE(
    "controller: after a change of the source, only the new source is scanned and its devices are listed") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  const auto other = std::make_shared<test::Machine>();
  other->show({.devices = {of_type("b", "one")}});
  running.entry->update({test::entry_of(other, "x.com/{type}")});
  REQUIRE(test::run_until(running.process.loop, [&] { return running.device("x.com/one", "b") != nullptr; }));
  CHECK(running.device("x.com/one", "a")->gone);
  const int before = running.machine->scans();
  running.entry->request_scan();
  test::pass(running.process.loop, 1min);
  CHECK(running.machine->scans() == before);
}

TEST_CASE("controller: the faults and the flapping of a predecessor's devices are those of the first list") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one"), of_type("b", "one"), of_type("c", "two")}});
  running.inheritance.faults = {{"x.com/one", {{"a", "XID 79"}, {"gone", "XID 95"}}},
                                {"x.com/other", {{"c", "no"}}}};
  running.inheritance.flapping = {{"x.com/two", {{"c", EventLoop::Clock::now()}}}};
  running.start();
  REQUIRE(running.lists({"x.com/one", "x.com/two"}));
  CHECK(running.device("x.com/one", "a")->error == "XID 79");
  CHECK(running.device("x.com/one", "a")->lasting);
  CHECK(running.device("x.com/one", "b")->healthy());
  CHECK_FALSE(running.device("x.com/two", "c")->healthy());
  Inheritance told;
  running.entry->add_to(told);
  CHECK(told.faults == Inheritance::ByDevice<std::string>{{"x.com/one", {{"a", "XID 79"}}}});
  CHECK(told.flapping == running.inheritance.flapping);
  CHECK(told.resources.empty());  // none is attached
  // From then on the fault is the source's.
  const int scans = running.machine->scans();
  running.entry->request_scan();
  REQUIRE(running.scanned(scans + 1));
  CHECK(running.device("x.com/one", "a")->error == "XID 79");
  running.entry->forgive({"x.com/one", "a"});
  CHECK(test::run_until(running.process.loop, [&] { return running.device("x.com/one", "a")->healthy(); }));
}

}  // namespace
}  // namespace plughost
