// Tests the example kind of docs/adding-a-kind.md, whose code is compiled from that page.

#include <doctest/doctest.h>

#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {

Kind watchdog_kind();

namespace {

using namespace test;

std::unique_ptr<const DeviceSource> read_watchdog(Node value, Diagnostics& diagnostics) {
  const Node node = map({{"watchdog", std::move(value)}});
  Fields entry(node, "resources[0]", diagnostics);
  return watchdog_kind().read(entry);
}

TEST_CASE("the page's example kind finds its devices, and watches its udev subsystem") {
  const MadeSysfs sysfs;
  sysfs.device("/sys/devices/platform/iTCO/watchdog/watchdog0", "watchdog", {{"identity", "iTCO_wdt"}},
               {{"DEVNAME", "watchdog0"}});
  sysfs.device("/sys/devices/virtual/watchdog/watchdog1", "watchdog", {{"identity", "Software Watchdog"}},
               {{"DEVNAME", "watchdog1"}});
  Diagnostics diagnostics;
  const auto source = read_watchdog(map({{"identity", text("iTCO*")}}), diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  const Scan scan = source->scan(sysfs.host());
  CHECK(scan.subsystems == std::vector<std::string>{"watchdog"});
  REQUIRE(scan.devices.size() == 1);
  CHECK(
      scan.devices[0] ==
      Device{
          .id = "watchdog0",
          .nodes = {{.host_path = "/dev/watchdog0", .container_path = "/dev/watchdog", .permissions = "rw"}},
          .attributes = {{.name = "path", .value = "/dev/watchdog0"},
                         {.name = "identity", .value = "iTCO_wdt"}}});
}

TEST_CASE("the page's example kind reports the errors of its entry") {
  Diagnostics diagnostics;
  read_watchdog(map({{"permissions", text("rx")}, {"identiy", text("a")}}), diagnostics);
  REQUIRE(diagnostics.error_count() == 2);
  CHECK(diagnostics.all()[0].path == "resources[0].watchdog.permissions");
  CHECK(diagnostics.all()[1].what == "unknown key 'identiy' (did you mean 'identity'?)");
}

}  // namespace
}  // namespace plughost
