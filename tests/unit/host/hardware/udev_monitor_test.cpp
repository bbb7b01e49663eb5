#include "host/hardware/udev_monitor.hpp"

#include <doctest/doctest.h>

#include <string>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

TEST_CASE("a udevd that starts or stops leads to a scan of everything, because events in between are lost") {
  const test::TempDir machine;
  machine.directory("run/udev");
  EventLoop loop;
  DirWatcher directories(loop, [](const std::string& error) { FAIL(error); });
  const HostRoot host(machine.path());
  UdevMonitor monitor(loop, directories, host, [](const std::string& error) { FAIL(error); });
  int told = 0;
  const auto watch = monitor.watch("no-such-subsystem", [&] { ++told; });
  machine.file("run/udev/control");
  CHECK(test::run_until(loop, [&] { return told == 1; }));
  machine.remove("run/udev/control");
  CHECK(test::run_until(loop, [&] { return told == 2; }));
}
