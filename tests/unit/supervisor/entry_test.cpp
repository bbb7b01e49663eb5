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
  Drains drains;
  Owner owner;
  std::unique_ptr<Entry> entry;

  void start() {
    entry = std::make_unique<Entry>(
        Publication::Means{
            .platform = process.platform, .link = link, .cdi = cdi, .assuming = assuming, .owner = owner},
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
  void pass(Clock::duration time) {
    const auto then = Clock::now() + time;
    test::run_until(process.loop, [&] { return Clock::now() >= then; });
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
  running.pass(1s);
  running.machine->hang(false);
  CHECK(running.lists({"x.com/one", "x.com/two"}));
  // And nobody asks for another look.
  test::run_until(
      running.process.loop, [&] { return running.machine->scans() > before + 1; }, 300ms);
  CHECK(running.machine->scans() == before + 1);
}

}  // namespace
}  // namespace plughost
