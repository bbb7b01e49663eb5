#include "supervisor/entry.hpp"

#include <doctest/doctest.h>

#include <set>

#include "unit/listing/shown_machine.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = Entry::Clock;

Device of_type(const char* id, const char* type) { return {.id = id, .attributes = {{"type", type}}}; }

// Nobody else has a resource.
struct Owner final : EntryOwner {
  std::string claim(const std::string&, const std::string&) override { return ""; }
  Clock::time_point not_before(const std::string&) const override { return Clock::time_point::min(); }
  void removed(const std::string&, const std::string&) override {}
  void offered(const Offer&) override {}
  void emptied(const Offer&) override {}
  void changed() override {}
};

// An entry whose resources are named after its devices' types, on a node without a kubelet. The machine must
// have been let go before it ends.
struct Running {
  test::TempDir kubelet;
  test::Process process;
  std::shared_ptr<test::Machine> machine = std::make_shared<test::Machine>();
  KubeletLink link{process.platform,
                   {.directory = kubelet.path(), .pod_resources = kubelet.at("none")},
                   nullptr,
                   [] {},
                   [] {}};
  CdiPlaces cdi{process.workers, process.host, kubelet.at("cdi"), "plughost"};
  Assuming assuming{{.loop = process.platform.loop,
                     .log = process.platform.log,
                     .api_server = process.platform.api_server,
                     .node_watch = process.platform.node_watch,
                     .checkpoint = [this]() -> CheckpointReader& { return link.checkpoint(); },
                     .write_late = {},
                     .keep_late = {}},
                    kubelet.at("none")};
  HeldDevices held{process.loop, process.log, [](const HoldingsReader::Done&) {}, [] {}};
  Drains drains;
  Owner owner;
  std::unique_ptr<Entry> entry;

  void start() {
    entry = std::make_unique<Entry>(Publication::Means{.platform = process.platform,
                                                       .link = link,
                                                       .cdi = cdi,
                                                       .assuming = assuming,
                                                       .held = held,
                                                       .owner = owner},
                                    drains, test::entry_of(machine, "x.com/{type}"));
  }
  std::set<std::string> resources() const {
    std::set<std::string> names;
    entry->publication().for_each_resource([&](const Resource& resource) { names.insert(resource.name()); });
    return names;
  }
  bool lists(const std::set<std::string>& names) {
    return test::run_until(process.loop, [&] { return resources() == names; });
  }
  bool scanned(int times) {
    return test::run_until(process.loop, [&] { return machine->scans() >= times; });
  }
  // nullptr: it is not listed.
  const Device* device(const std::string& resource, const std::string& id) {
    const Device* found = nullptr;
    entry->publication().for_each_resource([&](const Resource& each) {
      if (each.name() == resource) found = device_of_id(each.offer()->inventory.devices(), id);
    });
    return found;
  }
  std::string stall(const std::string& resource) {
    std::string why;
    entry->publication().for_each_resource([&](const Resource& each) {
      if (each.name() == resource) why = each.offer()->stall;
    });
    return why;
  }
};

TEST_CASE("entry: a resource that is new is listed by the look that has found it, however long that takes") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  const int before = running.machine->scans();
  running.machine->show({.devices = {of_type("a", "one"), of_type("b", "two")}});
  running.machine->hang_at(before + 1);
  running.entry->hint();
  REQUIRE(running.scanned(before + 1));
  test::pass(running.process.loop, 1s);
  running.machine->hang(false);
  CHECK(running.lists({"x.com/one", "x.com/two"}));
  // And nobody asks for another look.
  test::run_until(
      running.process.loop, [&] { return running.machine->scans() > before + 1; }, 300ms);
  CHECK(running.machine->scans() == before + 1);
}

TEST_CASE("entry: a look that fails leaves the list, is counted, and is tried again") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  running.machine->fail("the directory is gone");
  running.entry->hint();
  REQUIRE(test::run_until(running.process.loop, [&] { return running.entry->status().scans_failed == 1; }));
  CHECK(running.resources() == std::set<std::string>{"x.com/one"});
  CHECK(running.entry->status().trouble == "cannot look for devices: the directory is gone");
  CHECK(running.entry->status().trouble_at);
  running.machine->fail("");
  running.machine->show({.devices = {of_type("b", "two")}});
  test::pass(running.process.loop, 1s);
  CHECK(running.lists({"x.com/one", "x.com/two"}));
  CHECK(running.entry->status().scans_failed == 1);
}

TEST_CASE("entry: while a look hangs the list stands, and no container gets a device: it is told why") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  CHECK(running.stall("x.com/one").empty());
  running.machine->hang(true);
  running.entry->hint();
  REQUIRE(running.scanned(2));
  test::pass(running.process.loop, Scanner::kDeadline - 100ms);
  CHECK_FALSE(running.entry->status().stalled);
  test::pass(running.process.loop, 100ms);
  REQUIRE(test::run_until(running.process.loop, [&] { return running.entry->status().stalled; }));
  CHECK(running.stall("x.com/one").starts_with("a look at its devices has not ended within 5 s"));
  SUBCASE("until it ends") {
    running.machine->hang(false);
    REQUIRE(test::run_until(running.process.loop, [&] { return !running.entry->status().stalled; }));
    CHECK(running.stall("x.com/one").empty());
  }
  SUBCASE("and a drain does not wait for it") {
    running.drains.set({"x.com/one", "a"}, {.reason = "the fan", .since = {}});
    running.entry->on_overlay();
    REQUIRE(running.device("x.com/one", "a"));
    CHECK(running.device("x.com/one", "a")->reason() == "drained: the fan");
    CHECK(running.machine->scans() == 2);
    running.machine->hang(false);
  }
}

TEST_CASE("entry: a device that has gone is listed as that, and forgotten after its time") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one"), of_type("b", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  running.machine->show({.devices = {of_type("b", "one")}});
  running.entry->hint();
  REQUIRE(test::run_until(running.process.loop, [&] { return running.device("x.com/one", "a")->gone; }));
  CHECK_FALSE(running.device("x.com/one", "a")->healthy());
  test::pass(running.process.loop, running.entry->config().recipe->forget_after);
  CHECK(test::run_until(running.process.loop, [&] { return !running.device("x.com/one", "a"); }));
  CHECK(running.device("x.com/one", "b"));
}

TEST_CASE("entry: another source has its devices listed, and streams are not touched") {
  Running running;
  running.machine->show({.devices = {of_type("a", "one")}});
  running.start();
  REQUIRE(running.lists({"x.com/one"}));
  const auto other = std::make_shared<test::Machine>();
  other->show({.devices = {of_type("b", "one")}});
  running.entry->update(test::entry_of(other, "x.com/{type}"));
  REQUIRE(test::run_until(running.process.loop, [&] { return running.device("x.com/one", "b") != nullptr; }));
  CHECK(running.device("x.com/one", "a")->gone);
  const int before = running.machine->scans();
  running.entry->hint();
  test::pass(running.process.loop, 1min);
  CHECK(running.machine->scans() == before);
}

}  // namespace
}  // namespace plughost
