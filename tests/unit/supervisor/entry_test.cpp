#include "supervisor/entry.hpp"

#include <doctest/doctest.h>

#include <set>

#include "unit/run_until.hpp"
#include "unit/supervisor/shown_machine.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = Entry::Clock;

Device of_type(const char* id, const char* type) { return {.id = id, .attributes = {{"type", type}}}; }

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
  CdiWriter cdi{process.workers, process.host, kubelet.at("cdi"), "plughost"};
  Assuming assuming{{.loop = process.platform.loop,
                     .log = process.platform.log,
                     .api_server = process.platform.api_server,
                     .node_watch = process.platform.node_watch,
                     .checkpoint = [this]() -> CheckpointReader& { return link.checkpoint(); },
                     .write_late = {},
                     .keep_late = {}},
                    kubelet.at("none")};
  Drains drains;
  std::unique_ptr<Entry> entry;

  void start() {
    entry = std::make_unique<Entry>(
        process.platform, link, test::entry_of(machine, "x.com/{type}"),
        Entry::Hooks{.claim = [](const std::string&) { return ""; },
                     .not_before = [](const std::string&) { return Clock::time_point::min(); },
                     .removed = [](const std::string&) {},
                     .cdi = [this]() -> CdiWriter& { return cdi; },
                     .assuming = [this]() -> Assuming& { return assuming; },
                     .drains = [this]() -> const Drains& { return drains; },
                     .offered = [](const Offer&) {},
                     .emptied = [](const Offer&) {},
                     .changed = [] {}});
  }
  std::set<std::string> resources() const {
    std::set<std::string> names;
    entry->for_each_resource([&](const Resource& resource) { names.insert(resource.name()); });
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
