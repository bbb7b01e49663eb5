#include "model/device/inventory.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace plughost {
namespace {

using enum DeviceChange::Kind;
using Changes = std::vector<DeviceChange>;
using Devices = std::vector<Device>;

Device well(const std::string& id) { return {.id = id}; }
Device sick(const std::string& id, const std::string& error) { return {.id = id, .error = error}; }
Device gone(const std::string& id) { return {.id = id, .error = "it is gone", .gone = true}; }

TEST_CASE("a device that turns Unhealthy is reported with its reason, and a recovered one without") {
  CHECK(device_changes(Devices{well("a"), sick("b", "x"), sick("c", "y"), well("d")},
                       Devices{sick("a", "too hot"), well("b"), sick("c", "another reason"), well("d")}) ==
        Changes{{kUnhealthy, "a", "too hot"}, {kHealthy, "b", ""}});
}

TEST_CASE("a device that is new in the list is reported as appeared, and as Unhealthy if it is") {
  CHECK(device_changes(Devices{well("b")}, Devices{well("a"), well("b"), sick("c", "too hot")}) ==
        Changes{{kAppeared, "a", ""}, {kAppeared, "c", "too hot"}, {kUnhealthy, "c", "too hot"}});
  CHECK(device_changes({}, Devices{well("a")}) == Changes{{kAppeared, "a", ""}});
}

TEST_CASE("devices of the first list are not reported as appeared, but as Unhealthy if they are") {
  CHECK(device_changes_of_first(Devices{well("a"), sick("b", "too hot")}) ==
        Changes{{kUnhealthy, "b", "too hot"}});
}

TEST_CASE("a device that is gone is reported as gone only, not as Unhealthy") {
  CHECK(device_changes(Devices{well("a"), sick("b", "x")}, Devices{gone("a"), gone("b")}) ==
        Changes{{kGone, "a", "it is gone"}, {kGone, "b", "it is gone"}});
  CHECK(device_changes(Devices{gone("a")}, Devices{gone("a")}).empty());
}

TEST_CASE("a device that returns is reported as appeared only, not as Healthy") {
  CHECK(device_changes(Devices{gone("a"), gone("b")}, Devices{well("a"), sick("b", "flapping")}) ==
        Changes{{kAppeared, "a", ""}, {kAppeared, "b", "flapping"}, {kUnhealthy, "b", "flapping"}});
}

TEST_CASE(
    "a device that left the list is reported as forgotten, and before that as gone if it was still present") {
  CHECK(device_changes(Devices{gone("a"), well("b"), well("c"), sick("d", "x")}, Devices{well("b")}) ==
        Changes{{kForgotten, "a", ""},
                {kGone, "c", ""},
                {kForgotten, "c", ""},
                {kGone, "d", ""},
                {kForgotten, "d", ""}});
}

TEST_CASE("equal lists report nothing") {
  const Devices list{well("a"), sick("b", "x"), gone("c")};
  CHECK(device_changes(list, list).empty());
  CHECK(device_changes({}, {}).empty());
}

TEST_CASE("a device whose replicas are all held is reported as Unhealthy for that reason") {
  Device taken = well("a");
  taken.reasons = {Reason::holder("a pod has it", {0})};
  CHECK(device_changes(Devices{well("a")}, Devices{taken}) == Changes{{kUnhealthy, "a", "a pod has it"}});
}

TEST_CASE("a group of changes has the number, the first names and the first reason") {
  Changes changes;
  for (int i = 1000; i < 2000; ++i) {
    changes.push_back({kUnhealthy, std::to_string(i), i == 1999 ? "too hot" : "too cold"});
    changes.push_back({kGone, "g" + std::to_string(i), "it is gone"});
  }
  const ChangedGroup unhealthy = group_of(changes, kUnhealthy);
  CHECK(unhealthy.count == 1000);
  CHECK(unhealthy.names == "1000, 1001, 1002, 1003, 1004 and 995 more");
  CHECK(unhealthy.why == "too cold, and others");
  CHECK(group_of(changes, kGone).why == "it is gone");
  CHECK(group_of(changes, kHealthy).count == 0);
}

TEST_CASE("of names the first five are reported, each shortened") {
  FirstNames names;
  CHECK(names.text().empty());
  for (const char* name : {"a", "b", "c", "d", "e"}) names.add(name);
  CHECK(names.text() == "a, b, c, d, e");
  names.add("f");
  CHECK(names.text() == "a, b, c, d, e and 1 more");
  CHECK(names.count() == 6);

  FirstNames longer;
  longer.add(std::string(FirstNames::kLongest, 'x'));
  longer.add(std::string(FirstNames::kLongest + 1, 'y'));
  CHECK(longer.text() ==
        std::string(FirstNames::kLongest, 'x') + ", " + std::string(FirstNames::kLongest, 'y') + "...");
}

TEST_CASE("a long text is cut between two characters") {
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("abcd", 3) == "abc...");
  CHECK(shortened("a\xC3\xA4"
                  "b",
                  2) == "a...");
  CHECK(shortened("a\xC3\xA4"
                  "b",
                  3) == "a\xC3\xA4...");
}

}  // namespace
}  // namespace plughost
