#include "daemon/reload/config_controller.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <vector>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::run_until;

struct WatchRig {
  test::TempDir tree;
  HostRoot host{tree.path()};
  EventLoop loop;
  DirWatcher directories{loop, [](const std::string&) {}};
  int told = 0;
  ConfigWatch watch{loop, directories, host, [this] { ++told; }};

  // Starts to watch the sources, and waits until the watch reports that it is active.
  void follow(const std::vector<WatchedDirectory>& sources) {
    watch.follow(sources);
    REQUIRE(comes_to(told + 1));
  }
  bool comes_to(int times) {
    return run_until(loop, [&] { return told >= times; });
  }
};

const std::vector<WatchedDirectory> kFile{{"/etc", "a.yaml", WatchFor::kContents}};

TEST_CASE("a file that is written, replaced or removed is reported once it has been unchanged for 200 ms") {
  WatchRig rig;
  rig.tree.file("/etc/a.yaml", "1");
  rig.follow(kFile);
  const auto begin = ConfigWatch::Clock::now();
  rig.tree.file("/etc/a.yaml", "2");
  REQUIRE(rig.comes_to(2));
  CHECK(ConfigWatch::Clock::now() - begin >= ConfigWatch::kQuiet);
  rig.tree.file("/etc/b", "3");
  std::filesystem::rename(rig.tree.at("/etc/b"), rig.tree.at("/etc/a.yaml"));
  REQUIRE(rig.comes_to(3));
  rig.tree.remove("/etc/a.yaml");
  REQUIRE(rig.comes_to(4));
  CHECK(rig.told == 4);
}

TEST_CASE("continuous writes delay the report of a change by more than a second, but not for ever") {
  WatchRig rig;
  rig.tree.file("/etc/a.yaml", "1");
  rig.follow(kFile);
  const auto begin = ConfigWatch::Clock::now();
  Timer write(rig.loop, [&] {
    rig.tree.file("/etc/a.yaml", "2");
    write.arm(20ms);
  });
  write.arm(0ms);
  REQUIRE(run_until(
      rig.loop, [&] { return rig.told == 2; }, 30s));
  CHECK(ConfigWatch::Clock::now() - begin >= 1s);
}

TEST_CASE("a file that is no longer watched is not reported") {
  WatchRig rig;
  rig.tree.file("/etc/a.yaml", "1");
  rig.follow(kFile);
  rig.tree.file("/etc/a.yaml", "2");
  test::run_once(rig.loop);
  rig.watch.follow({});
  rig.tree.file("/etc/a.yaml", "3");
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.told > 1; }, ConfigWatch::kQuiet + 50ms));
}

}  // namespace
}  // namespace plughost
