#include <doctest/doctest.h>

#include "model/device/assembly.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

using namespace test;
using Ids = std::vector<std::string>;

TEST_CASE("the devices of `count` are numbered from 0, and do not depend on the machine") {
  const Entry entry = read_entry("count", text("3"));
  REQUIRE(entry.problems.empty());
  const Scan scan = entry.source->scan(HostRoot("/nowhere"));
  CHECK(ids_of(scan) == Ids{"0", "1", "2"});
  CHECK(scan.watch.empty());
  CHECK(entry.source->fixed_devices() == scan.devices);
}

TEST_CASE("the ids of `count` devices by default consist of the resource's name and the number") {
  AllocationSpec spec;
  spec.name = Template("nicktming.com/gpu");
  for (const Kind& kind : kinds()) {
    if (kind.key == "count") spec.id = Template(kind.default_id);
  }
  const Entry entry = read_entry("count", text("2"));
  const Assembly assembly = assemble(spec, entry.source->fixed_devices());
  const std::vector<Device>& devices = assembly.resources.at("nicktming.com/gpu");
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].id == "nicktming.com/gpu-0");
  CHECK(devices[1].id == "nicktming.com/gpu-1");
}

TEST_CASE("a count is a number from 1 to a million") {
  for (const char* wrong : {"0", "1000001", "-1", "ten", ""}) {
    CHECK_MESSAGE(read_entry("count", text(wrong)).problems.size() == 1, wrong);
  }
  CHECK(read_entry("count", text("1000000")).problems.empty());
  CHECK(read_entry("count", list({})).problems.size() == 1);
}

}  // namespace
}  // namespace plughost
