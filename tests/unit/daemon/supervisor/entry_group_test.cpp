#include <doctest/doctest.h>

#include <filesystem>

#include "unit/daemon/supervisor/running.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::Machine;
using test::Running;

constexpr const char* kA = "x.com/a";

// Two entries of one name, each with its own machine.
struct TwoParts : Running {
  std::shared_ptr<Machine> other = std::make_shared<Machine>();
  ResourceConfig first = test::entry_of(machine, kA);
  ResourceConfig second = test::entry_of(other, kA);

  TwoParts() {
    machine->show({.devices = {{.id = "one"}}});
    other->show({.devices = {{.id = "two"}}});
  }
  void start_both() { start({first, second}); }
  // Returns the listed devices, with a mark for Unhealthy ones, such as "one two!".
  std::string listed() {
    std::string text;
    entry->publisher().for_each_resource([&](const Resource& each) {
      for (const Device& device : each.snapshot()->inventory.devices())
        text += (text.empty() ? "" : " ") + device.id + (device.healthy() ? "" : "!");
    });
    return text;
  }
  bool comes_to_list(const std::string& wanted) {
    return test::run_until(process.loop, [&] { return listed() == wanted; });
  }
  std::string stall_of(const char* id) {
    std::string why;
    entry->publisher().for_each_resource([&](const Resource& each) {
      why = plughost::stall_of(*each.snapshot(), std::vector<std::string>{id});
    });
    return why;
  }
  // Requests a scan, and lets the second pass by which the scan may be delayed.
  void look_anew() {
    entry->request_scan();
    test::pass(process.loop, 1s);
  }
};

TEST_CASE(
    "entry group: entries with one name have one list, in which each device has its own entry's terms") {
  TwoParts parts;
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  CHECK(parts.device(kA, "one")->terms == parts.first.spec);
  CHECK(parts.device(kA, "two")->terms == parts.second.spec);
  CHECK(parts.entry->status().size() == 2);
  parts.other->show({.devices = {{.id = "three"}, {.id = "two"}}});
  parts.look_anew();
  CHECK(parts.comes_to_list("one three two"));
}

TEST_CASE("entry group: each entry's status says why its last scan found no device, until one does") {
  TwoParts parts;
  parts.other->show({.funnels = {{.selector = "pci", .candidates = "PCI function"}}});
  parts.start_both();
  REQUIRE(parts.comes_to_list("one"));
  CHECK(parts.entry->status()[0].no_devices.empty());
  CHECK(parts.entry->status()[1].no_devices == "there is no PCI function");
  parts.other->show({.undecided = true});
  const int scans = parts.other->scans();
  parts.look_anew();
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.other->scans() > scans; }));
  CHECK(parts.entry->status()[1].no_devices == "there is no PCI function");
  parts.other->show({.devices = {{.id = "two"}}});
  parts.look_anew();
  REQUIRE(parts.comes_to_list("one two"));
  CHECK(parts.entry->status()[1].no_devices.empty());
}

TEST_CASE("entry group: a single entry's devices have no terms of their own") {
  TwoParts parts;
  parts.start({parts.first});
  REQUIRE(parts.comes_to_list("one"));
  CHECK_FALSE(parts.device(kA, "one")->terms);
}

TEST_CASE("entry group: the first list has all entries' devices, because running pods would lose theirs") {
  TwoParts parts;
  parts.other->hang(true);
  parts.start_both();
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.other->scans() == 1; }));
  REQUIRE(parts.scanned(1));
  test::pass(parts.process.loop, 1s);
  CHECK(parts.listed().empty());
  parts.other->hang(false);
  CHECK(parts.comes_to_list("one two"));
}

TEST_CASE(
    "entry group: an entry whose scan fails does not delay the other one, and is listed after a later scan") {
  TwoParts parts;
  parts.other->fail("no driver");
  parts.start_both();
  REQUIRE(parts.comes_to_list("one"));
  CHECK(parts.entry->status()[0].error.empty());
  CHECK(parts.entry->status()[1].error == "device scan failed: no driver");
  parts.other->fail("");
  parts.look_anew();
  CHECK(parts.comes_to_list("one two"));
  SUBCASE("the entry keeps its devices when a scan fails again") {
    parts.other->fail("no driver");
    parts.machine->show({.devices = {{.id = "new"}}});
    parts.look_anew();
    CHECK(parts.comes_to_list("new one! two"));
  }
}

TEST_CASE(
    "entry group: while an entry's scan stalls, its devices are refused, and the other entry's are given") {
  TwoParts parts;
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  parts.other->hang(true);
  parts.machine->show({.devices = {{.id = "new"}, {.id = "one"}}});
  parts.entry->request_scan();
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.other->scans() == 2; }));
  CHECK(parts.comes_to_list("new one two"));
  test::pass(parts.process.loop, Scanner::kDeadline);
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.entry->status()[1].stalled; }));
  CHECK_FALSE(parts.entry->status()[0].stalled);
  CHECK(parts.stall_of("one").empty());
  CHECK(parts.stall_of("new").empty());
  CHECK(parts.stall_of("two").starts_with("its device scan has not ended within 5 s"));
  parts.other->hang(false);
  CHECK(test::run_until(parts.process.loop, [&] { return parts.stall_of("two").empty(); }));
}

TEST_CASE("entry group: an entry's source is at rest while its own devices are drained") {
  TwoParts parts;
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  parts.drains.set({kA, "two"}, {.reason = "", .since = {}});
  parts.entry->on_overlay();
  CHECK(parts.machine->at_rest() == false);
  CHECK(parts.other->at_rest() == true);
}

TEST_CASE(
    "entry group: the first list waits for an entry whose scan stalls no longer than the scan's deadline") {
  TwoParts parts;
  parts.other->hang(true);
  parts.start_both();
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.other->scans() == 1; }));
  REQUIRE(parts.scanned(1));
  test::pass(parts.process.loop, Scanner::kDeadline);
  CHECK(parts.comes_to_list("one"));
  parts.other->hang(false);
  CHECK(parts.comes_to_list("one two"));
}

TEST_CASE("entry group: a device of both entries belongs to the first, even if the other was scanned last") {
  TwoParts parts;
  const auto card = [](const char* id) {
    Device device{.id = id};
    device.hardware.edit().units = {"/sys/devices/card"};
    return device;
  };
  parts.machine->show({.devices = {card("one")}});
  parts.other->show({.devices = {card("same"), {.id = "two"}}});
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  parts.machine->show({});
  parts.look_anew();
  CHECK(parts.comes_to_list("one! same two"));
}

TEST_CASE(
    "entry group: a new entry's devices are listed after its first scan, and a removed entry's as gone") {
  for (const bool before : {false, true}) {
    TwoParts parts;
    parts.start({parts.first});
    REQUIRE(parts.comes_to_list("one"));
    const ResourceController::Configs both = before ? ResourceController::Configs{parts.second, parts.first}
                                                    : ResourceController::Configs{parts.first, parts.second};
    parts.entry->update(both);
    REQUIRE(parts.comes_to_list("one two"));
    CHECK(parts.device(kA, "one")->terms == parts.first.spec);
    parts.entry->update({parts.first});
    CHECK(parts.comes_to_list("one two!"));
    CHECK(parts.device(kA, "two")->gone);
    CHECK(test::run_until(parts.process.loop, [&] { return !parts.device(kA, "one")->terms; }));
  }
}

TEST_CASE(
    "entry group: a removed entry's devices are listed as gone even while the other entry's scan stalls") {
  TwoParts parts;
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  parts.machine->hang(true);
  parts.entry->request_scan();
  CHECK(parts.scanned(2));
  test::pass(parts.process.loop, Scanner::kDeadline);
  CHECK(test::run_until(parts.process.loop, [&] { return !parts.stall_of("one").empty(); }));
  parts.entry->update({parts.first});
  CHECK(parts.comes_to_list("one two!"));
  CHECK_FALSE(parts.stall_of("one").empty());
  parts.machine->hang(false);
  CHECK(test::run_until(parts.process.loop, [&] { return parts.stall_of("one").empty(); }));
}

TEST_CASE("entry group: a new entry whose scan fails removes no devices of the other entry") {
  TwoParts parts;
  parts.start({parts.first});
  REQUIRE(parts.comes_to_list("one"));
  parts.machine->hang(true);
  parts.other->fail("no driver");
  parts.entry->update({parts.first, parts.second});
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.entry->status()[1].scans_failed > 0; }));
  CHECK(parts.listed() == "one");
  parts.machine->hang(false);
}

TEST_CASE("entry group: a changed entry keeps its devices until a new scan has succeeded") {
  TwoParts parts;
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  const auto third = std::make_shared<Machine>();
  third->fail("no driver");
  parts.entry->update({parts.first, test::entry_of(third, kA)});
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.entry->status()[1].scans_failed > 0; }));
  parts.machine->show({.devices = {{.id = "new"}, {.id = "one"}}});
  parts.look_anew();
  CHECK(parts.comes_to_list("new one two"));
  third->fail("");
  third->show({.devices = {{.id = "three"}}});
  parts.look_anew();
  CHECK(parts.comes_to_list("new one three two!"));
}

TEST_CASE("entry group: changes that two entries find at the same time are both listed") {
  TwoParts parts;
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  // The first entry's scan begins before the other entry's scan ends, and ends after it.
  parts.machine->hang(true);
  parts.machine->show({.devices = {{.id = "one"}, {.id = "one-more"}}});
  parts.other->show({.devices = {{.id = "two"}, {.id = "two-more"}}});
  parts.entry->request_scan();
  REQUIRE(test::run_until(parts.process.loop, [&] { return parts.machine->scans() == 2; }));
  REQUIRE(parts.comes_to_list("one two two-more"));
  parts.machine->hang(false);
  CHECK(parts.comes_to_list("one one-more two two-more"));
}

TEST_CASE(
    "entry group: a scan from before an entry was added neither delays the new entry nor changes the list") {
  TwoParts parts;
  parts.start({parts.first});
  REQUIRE(parts.comes_to_list("one"));
  parts.machine->hang(true);
  parts.entry->request_scan();
  CHECK(parts.scanned(2));
  parts.entry->update({parts.first, parts.second});
  CHECK(parts.comes_to_list("one two"));
  parts.machine->hang_at(3);
  CHECK(parts.scanned(3));
  CHECK(parts.listed() == "one two");
  parts.machine->hang(false);
  CHECK(parts.comes_to_list("one two"));
}

TEST_CASE("entry group: an entry that reports a delayed start does not delay the first list") {
  TwoParts parts;
  parts.other->show({.devices = {{.id = "two"}}, .not_yet = "no pipe"});
  parts.start_both();
  REQUIRE(parts.comes_to_list("one"));
  // A delayed start that is reported later does not hold back the entry's devices.
  parts.other->show({.devices = {{.id = "two"}}});
  parts.look_anew();
  REQUIRE(parts.comes_to_list("one two"));
  parts.other->show({.devices = {{.id = "three"}}, .not_yet = "no pipe"});
  parts.look_anew();
  CHECK(parts.comes_to_list("one three two!"));
}

TEST_CASE("entry group: an entry with CDI has a CDI specification, even if the other entry uses no CDI") {
  TwoParts parts;
  AllocationSpec spec = *parts.second.spec;
  spec.cdi = CdiNames::kCri;
  parts.second.spec = std::make_shared<const AllocationSpec>(spec);
  Device with_node{.id = "two"};
  with_node.add_node("/dev/null");
  parts.other->show({.devices = {with_node}});
  parts.start_both();
  REQUIRE(parts.comes_to_list("one two"));
  CHECK(parts.entry->names_by_cdi());
  CHECK_FALSE(std::filesystem::is_empty(parts.kubelet.at("cdi")));
}

TEST_CASE("entry group: the labels and node resources of all entries are joined") {
  TwoParts parts;
  parts.first.labels.push_back({.key = "x.com/one"});
  parts.second.labels.push_back({.key = "x.com/two"});
  parts.second.node_resources.emplace_back();
  parts.start_both();
  CHECK(parts.entry->config().labels.size() == 2);
  CHECK(parts.entry->config().labels[0].key == "x.com/one");
  CHECK(parts.entry->config().node_resources.size() == 1);
}

TEST_CASE("entry group: devices that are gone when an entry is added are forgotten after their usual time") {
  TwoParts parts;
  parts.machine->show({.devices = {{.id = "old"}, {.id = "one"}}});
  parts.start({parts.first});
  REQUIRE(parts.comes_to_list("old one"));
  parts.machine->show({.devices = {{.id = "one"}}});
  parts.look_anew();
  REQUIRE(parts.comes_to_list("old! one"));
  parts.machine->hang(true);
  parts.entry->update({parts.first, parts.second});
  CHECK(parts.comes_to_list("old! one two"));
  test::pass(parts.process.loop, parts.first.spec->forget_after);
  CHECK(parts.comes_to_list("one two"));
  parts.machine->hang(false);
}

TEST_CASE(
    "entry group: after the replacement of an entry whose scan stalls, devices are refused until the new "
    "entry is scanned") {
  TwoParts parts;
  parts.start({parts.first});
  REQUIRE(parts.comes_to_list("one"));
  parts.machine->hang(true);
  parts.entry->request_scan();
  CHECK(parts.scanned(2));
  test::pass(parts.process.loop, Scanner::kDeadline);
  CHECK(test::run_until(parts.process.loop, [&] { return !parts.stall_of("one").empty(); }));
  parts.other->hang(true);
  parts.entry->update({parts.second});
  CHECK_FALSE(parts.stall_of("one").empty());
  parts.other->hang(false);
  CHECK(parts.comes_to_list("one! two"));
  CHECK(parts.stall_of("two").empty());
  parts.machine->hang(false);
}

}  // namespace
}  // namespace plughost
