#include "model/allocate/one_container.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

Device device(std::vector<Attribute> attributes) {
  Device made;
  made.id = "an id";
  made.attributes = std::move(attributes);
  return made;
}

std::vector<CardName> uuids(const Names& names) {
  std::vector<CardName> cards;
  for (const std::string& name : names) cards.push_back({.uuid = name, .pci = {}, .index = {}, .id = name});
  return cards;
}

bool same(std::vector<Attribute> one, std::vector<Attribute> other) {
  return same_card(card_of(device(std::move(one))), card_of(device(std::move(other))));
}

TEST_CASE("cards are compared by the first of UUID, PCI address and index that both have") {
  CHECK(same({{"uuid", "GPU-a"}, {"pci", "0:1"}, {"index", "0"}}, {{"uuid", "GPU-a"}, {"index", "7"}}));
  CHECK_FALSE(same({{"uuid", "MIG-a"}, {"pci", "0:1"}}, {{"uuid", "MIG-b"}, {"pci", "0:1"}}));
  CHECK(same({{"uuid", "GPU-a"}, {"pci", "0:1"}, {"index", "0"}}, {{"pci", "0:1"}, {"index", "5"}}));
  CHECK_FALSE(same({{"pci", "0:1"}, {"index", "0"}}, {{"pci", "0:2"}, {"index", "0"}}));
  CHECK(same({{"vendor", "iluvatar"}, {"index", "0"}}, {{"index", "0"}, {"vendor", "iluvatar"}}));
  CHECK_FALSE(same({{"vendor", "iluvatar"}, {"index", "0"}}, {{"vendor", "nvidia"}, {"index", "0"}}));
  CHECK_FALSE(same({}, {}));
}

TEST_CASE("two sets of cards are the same if each contains the other") {
  CHECK(same_cards(uuids({"a", "b"}), uuids({"b", "a"})));
  CHECK_FALSE(same_cards(uuids({"a", "b"}), uuids({"a"})));
  CHECK_FALSE(same_cards(uuids({"a"}), uuids({"a", "b"})));
  CHECK(names_of(uuids({"a", "b"})) == "a, b");
  const CardName bare{.uuid = {}, .pci = "0:1", .index = {}, .id = "x"};
  CHECK(names_of({&bare, 1}) == "0:1");
}

TEST_CASE("the cards of earlier resources are required of the next") {
  GivenCards given;
  const auto now = GivenCards::Clock::time_point(1h);
  CHECK(given.before("memory", now).empty());
  CHECK(given.give("memory", uuids({"a"}), now).empty());
  CHECK(given.before("memory", now).empty());
  CHECK(names_of(given.before("cores", now)) == "a");
  CHECK(names_of(given.give("cores", uuids({"b"}), now)) == "a");
  // The pod was refused, so the next request is for a different container.
  CHECK(given.before("cards", now).empty());
  CHECK(given.give("cores", uuids({"b"}), now).empty());
}

TEST_CASE("when a resource is requested a second time, the request is for a new container") {
  GivenCards given;
  const auto now = GivenCards::Clock::time_point(1h);
  CHECK(given.give("memory", uuids({"a"}), now).empty());
  CHECK(given.give("cores", uuids({"a"}), now).empty());
  CHECK(names_of(given.before("cards", now)) == "a");
  CHECK(given.before("cores", now).empty());
  CHECK(given.give("cores", uuids({"b"}), now).empty());
  CHECK(names_of(given.before("memory", now)) == "b");
  CHECK(given.give("memory", uuids({"b"}), now).empty());
}

TEST_CASE("a request after the time for one container is for a new container") {
  const auto now = GivenCards::Clock::time_point(1h);
  GivenCards given;
  CHECK(given.give("memory", uuids({"a"}), now).empty());
  CHECK(given.before("cores", now + GivenCards::kSameContainer).size() == 1);
  CHECK(given.before("cores", now + GivenCards::kSameContainer + 1ms).empty());
  CHECK(given.give("cores", uuids({"b"}), now + GivenCards::kSameContainer + 1ms).empty());
  CHECK(names_of(given.before("memory", now + GivenCards::kSameContainer + 1ms)) == "b");
}

AllocationSpec spec(const std::string& name, const std::string& near, bool same_card = true) {
  AllocationSpec made;
  made.name = Template(name);
  made.near = near;
  made.same_card = same_card;
  return made;
}

TEST_CASE("only `sameCard` joins entries, also indirectly") {
  const std::vector<AllocationSpec> specs{spec("x/a", "x/b"), spec("x/b", "x/a"),   spec("x/c", "x/b"),
                                          spec("y/a", "y/b"), spec("y/b", "y/a"),   spec("x/d", "x/a", false),
                                          spec("z/a", "x/d"), spec("z/b", "z/none")};
  std::vector<const AllocationSpec*> all;
  for (const AllocationSpec& each : specs) all.push_back(&each);
  const auto groups = same_card_groups(all);
  REQUIRE(groups.size() == 5);
  CHECK(groups.at("x/a") == groups.at("x/b"));
  CHECK(groups.at("x/a") == groups.at("x/c"));
  CHECK(groups.at("y/a") == groups.at("y/b"));
  CHECK(groups.at("x/a") != groups.at("y/a"));
}

}  // namespace
}  // namespace plughost
