#include "supervisor/supervisor.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <optional>

#include "unit/kubelet/telling_kubelet.hpp"
#include "unit/listing/shown_machine.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;

// A node with a kubelet that says who holds what, and without resources.
struct Running {
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
  // With one device, which is given by CDI.
  Config with_specification(const std::string& directory) const {
    Config made = config();
    made.cdi.directory = dir.at(directory);
    ResourceConfig entry = test::entry_of(machine);
    Recipe recipe = *entry.recipe;
    recipe.cdi = CdiNames::kCri;
    recipe.env = {{Template("HAS_{id}"), Template("1")}};
    entry.recipe = std::make_shared<const Recipe>(recipe);
    made.resources = {entry};
    return made;
  }
  std::size_t specifications(const std::string& directory) const {
    std::error_code none;
    const std::filesystem::directory_iterator files(dir.at(directory), none);
    return none ? 0 : static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
  void ask(WithHolders with) {
    told.reset();
    supervisor.ask_status(with, [this](DaemonStatus status) { told = std::move(status); });
  }
  bool tells() {
    return test::run_until(process.loop, [&] { return told.has_value(); });
  }
};

TEST_CASE("supervisor: who needs no holders is told at once, whatever the kubelet does") {
  Running running;
  running.kubelet.hold(true);
  running.ask(WithHolders::kNo);
  REQUIRE(running.told);
  CHECK_FALSE(running.told->holdings);
  CHECK(running.kubelet.calls().empty());
}

TEST_CASE("supervisor: who wants holders that are told soon does not wait for a kubelet that is silent") {
  Running running;
  running.kubelet.add("x.com/a", "one");
  SUBCASE("the kubelet tells") {
    running.ask(WithHolders::kIfToldSoon);
    REQUIRE(running.tells());
    REQUIRE(running.told->holdings);
    CHECK(running.told->holdings->contains("x.com/a"));
  }
  SUBCASE("it does not") {
    running.kubelet.hold(true);
    const auto begun = EventLoop::Clock::now();
    running.ask(WithHolders::kIfToldSoon);
    REQUIRE(running.tells());
    CHECK(EventLoop::Clock::now() - begun < PodResources::kDeadline);
    CHECK_FALSE(running.told->holdings);
    CHECK(running.told->holders_unknown == "the kubelet has not told within 500 ms");
  }
}

TEST_CASE("supervisor: who has to know the holders waits for them") {
  Running running;
  running.kubelet.add("x.com/a", "one");
  running.kubelet.hold(true);
  running.ask(WithHolders::kYes);
  REQUIRE(test::run_until(running.process.loop, [&] { return running.kubelet.calls().size() == 1; }));
  CHECK_FALSE(running.told);
  running.kubelet.hold(false);
  REQUIRE(running.tells());
  CHECK(running.told->holdings);
}

TEST_CASE("supervisor: specifications that move are in the former directory until they are in the new one") {
  Running running;
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
  SUBCASE("there") { CHECK(move("first", "second")); }
  SUBCASE("there and back before it has ended") {
    running.supervisor.apply(running.with_specification("second"));
    CHECK(move("second", "first"));
  }
  SUBCASE("while the machine takes long to look at") {
    running.machine->hang(true);
    CHECK(move("first", "second"));
    running.machine->hang(false);
  }
  CHECK_FALSE(nowhere);
}

}  // namespace
}  // namespace plughost
