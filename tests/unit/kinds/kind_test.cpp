// Tests what is common to all kinds.

#include <doctest/doctest.h>

#include "unit/host/hardware/made_sysfs.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("a node that udev has not processed is left out, whichever pattern found it") {
  const MadeSysfs sysfs;
  sysfs.device("/sys/devices/virtual/mem/null", "mem", {}, {{"MAJOR", "1"}, {"MINOR", "3"}});
  for (const char* name : {"/dev/ttyS0", "/dev/ttyS1"})
    sysfs.tree().link(name, "/dev/null");        // the real node 1:3
  sysfs.tree().link("/dev/ttyS2", "/dev/zero");  // no device in the simulated /sys has this node's number
  const Node paths = list({map({{"path", text("/dev/ttyS*")}})});
  const Entry entry = read_entry("groups", list({map({{"paths", paths}})}));
  REQUIRE(entry.problems == Ids{});
  const auto scan = [&] { return entry.source->scan_chosen(sysfs.host(), AllocationSpec()); };
  CHECK(scan().devices.size() == 3);  // without udevd no node has to be processed
  sysfs.tree().file("/run/udev/control");
  const Scan early = scan();
  CHECK(ids_of(early) == Ids{"ttyS2"});
  CHECK(early.unfinished.size() == 2);
  CHECK(early.rescan_after == kUdevPatience);
  const auto another = [&](const std::string& id) {
    return entry.source->scan_chosen(sysfs.host(),
                                     taking({.only = {{.attributes = {{"id", {id}}}, .where = "only[0]"}}}));
  };
  CHECK(another("ttyS2").unfinished.empty());  // the unprocessed nodes are not selected here
  CHECK(another("ttyS2").rescan_after == 0s);
  CHECK(another("ttyS0").unfinished.size() == 1);
  CHECK(another("ttyS0").unmatched.empty());
  sysfs.tree().file("/run/udev/data/c1:3");
  CHECK(scan().devices.size() == 3);
  CHECK(scan().rescan_after == 0s);
}

}  // namespace plughost
