#include "pods/held_units.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

const std::string kMemory = "x.com/m";

Device card(const std::string& id, unsigned units) {
  Device device;
  device.id = id;
  device.replicas = units;
  return device;
}

const Inventory kCards({card("a", 2), card("b", 3)});

Holder holder(const std::string& pod) { return {.pod_namespace = "ns", .pod = pod, .container = "c0"}; }

}  // namespace

TEST_CASE("holders have as many ids of the card that they were given") {
  const Holdings told{{kMemory, {{"a::0", holder("p")}, {"a::1", holder("p")}, {"b::0", holder("q")}}},
                      {"x.com/n", {{"a::0", holder("p")}}}};
  const Holdings known = by_card(told, kMemory, kCards, [](const Holder& of) {
    return of.pod == "p" ? kCards.find("b::0") : kCards.find("a::0");
  });
  CHECK(known.at(kMemory) ==
        Holdings::mapped_type{{"b::0", holder("p")}, {"b::1", holder("p")}, {"a::0", holder("q")}});
  CHECK(known.at("x.com/n") == told.at("x.com/n"));
}

TEST_CASE("whose card nobody knows keeps the ids, or gets others where those are taken") {
  const Holdings told{
      {kMemory, {{"a::0", holder("p")}, {"b::0", holder("stranger")}, {"b::2", holder("stranger")}}}};
  const Holdings known = by_card(
      told, kMemory, kCards, [](const Holder& of) { return of.pod == "p" ? kCards.find("b::0") : nullptr; });
  CHECK(known.at(kMemory) == Holdings::mapped_type{{"b::0", holder("p")},
                                                   {"b::1", holder("stranger")},
                                                   {"b::2", holder("stranger")}});
}

TEST_CASE("a card that has no units left for its holders keeps count by those of others") {
  const Holdings told{{kMemory, {{"b::0", holder("p")}, {"b::1", holder("p")}, {"b::2", holder("p")}}}};
  const Holdings known = by_card(told, kMemory, kCards, [](const Holder&) { return kCards.find("a::0"); });
  CHECK(known.at(kMemory) ==
        Holdings::mapped_type{{"a::0", holder("p")}, {"a::1", holder("p")}, {"b::0", holder("p")}});
  CHECK(by_card({}, kMemory, kCards, [](const Holder&) { return nullptr; }).empty());
}

TEST_CASE("48,000 units of one pod are counted by looking at each unit and asking for its card once") {
  constexpr unsigned kUnits = 24'000;
  const Inventory cards({card("a", kUnits), card("b", kUnits)});
  Holdings told;
  cards.for_each_id([&](const std::string& id, const Device&) { told[kMemory].emplace(id, holder("p")); });
  unsigned asked = 0;
  const Holdings known = by_card(told, kMemory, cards, [&](const Holder&) {
    ++asked;
    return cards.find("b::0");
  });
  CHECK(asked == 1);
  CHECK(known == told);
}

TEST_CASE("who holds a resource is called as it is known there, and nobody else") {
  const Holdings told{{kMemory, {{"a::0", holder("p")}, {"a::1", holder("q")}}},
                      {"x.com/n", {{"a::0", holder("p")}}}};
  const auto called = [](const Holder& of) { return of.pod == "p" ? holder("trainer") : of; };
  const Holdings known = by_name(told, kMemory, called);
  CHECK(known.at(kMemory) == Holdings::mapped_type{{"a::0", holder("trainer")}, {"a::1", holder("q")}});
  CHECK(known.at("x.com/n") == told.at("x.com/n"));
  CHECK(by_name({}, kMemory, called).empty());
}
