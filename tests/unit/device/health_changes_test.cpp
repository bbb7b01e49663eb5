#include "device/health_changes.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace plughost {
namespace {

Device well(const std::string& id) {
  return {.id = id};
}
Device sick(const std::string& id, const std::string& trouble) {
  return {.id = id, .trouble = trouble};
}
using Devices = std::vector<Device>;

TEST_CASE("a device that turns Unhealthy is told with its reason, and so is one that begins so") {
  const auto changes =
      health_changes(Devices{well("a"), well("b")},
                     Devices{well("a"), sick("b", "too hot"), sick("c", "too hot"), well("d")});
  CHECK(changes.unhealthy.count == 2);
  CHECK(changes.unhealthy.names == "b, c");
  CHECK(changes.unhealthy.why == "too hot");
  CHECK(changes.healthy.count == 0);
  CHECK(changes.forgotten.count == 0);
}

TEST_CASE("a device that is Healthy again, and one that is not listed any more, are told") {
  const auto changes =
      health_changes(Devices{sick("a", "x"), sick("b", "gone"), sick("c", "y"), sick("z", "gone")},
                     Devices{well("a"), sick("c", "another reason")});
  CHECK(changes.healthy.names == "a");
  CHECK(changes.forgotten.count == 2);
  CHECK(changes.forgotten.names == "b, z");
  CHECK(changes.unhealthy.count == 0);
}

TEST_CASE("a burst is a count, the first names and the first reason") {
  Devices before;
  Devices after;
  for (int i = 1000; i < 2000; ++i) {
    before.push_back(well(std::to_string(i)));
    after.push_back(sick(std::to_string(i), i == 1999 ? "too hot" : "gone"));
  }
  const auto changes = health_changes(before, after);
  CHECK(changes.unhealthy.count == 1000);
  CHECK(changes.unhealthy.names == "1000, 1001, 1002, 1003, 1004 and 995 more");
  CHECK(changes.unhealthy.why == "gone, and others");
}

TEST_CASE("nothing is told of lists that are the same") {
  const Devices list{well("a"), sick("b", "x")};
  const auto changes = health_changes(list, list);
  CHECK(changes.unhealthy.count + changes.healthy.count + changes.forgotten.count == 0);
}

}  // namespace
}  // namespace plughost
