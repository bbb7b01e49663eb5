#include "kubernetes/pods/assuming.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

Device card(const std::string& id, unsigned units) {
  Device device;
  device.id = id;
  device.replicas = units;
  return device;
}

const Inventory kCards({card("a", 2), card("b", 3)});

Holder holder(const std::string& pod) { return {.pod_namespace = "ns", .pod = pod, .container = "c0"}; }

}  // namespace

TEST_CASE("each holder is assumed to hold as many ids of its card as it was given") {
  const HoldersOfIds held{{"a::0", holder("p")}, {"a::1", holder("p")}, {"b::0", holder("q")}};
  const HoldersOfIds known = by_card(held, kCards, [](const Holder& of) {
    return of.pod == "p" ? kCards.find("b::0") : kCards.find("a::0");
  });
  CHECK(known == HoldersOfIds{{"b::0", holder("p")}, {"b::1", holder("p")}, {"a::0", holder("q")}});
}

TEST_CASE("a holder whose card is unknown keeps its ids, or gets free ones if these are assigned to others") {
  const HoldersOfIds held{{"a::0", holder("p")}, {"b::0", holder("stranger")}, {"b::2", holder("stranger")}};
  const HoldersOfIds known =
      by_card(held, kCards, [](const Holder& of) { return of.pod == "p" ? kCards.find("b::0") : nullptr; });
  CHECK(known ==
        HoldersOfIds{{"b::0", holder("p")}, {"b::1", holder("stranger")}, {"b::2", holder("stranger")}});
}

TEST_CASE("if a card has too few ids for its holders, they get ids of other cards") {
  const HoldersOfIds held{{"b::0", holder("p")}, {"b::1", holder("p")}, {"b::2", holder("p")}};
  const HoldersOfIds known = by_card(held, kCards, [](const Holder&) { return kCards.find("a::0"); });
  CHECK(known == HoldersOfIds{{"a::0", holder("p")}, {"a::1", holder("p")}, {"b::0", holder("p")}});
  CHECK(by_card({}, kCards, [](const Holder&) { return nullptr; }) == HoldersOfIds());
}

TEST_CASE("the holders of 48,000 ids are assigned with one query for the card of their pod") {
  constexpr unsigned kUnits = 24'000;
  const Inventory cards({card("a", kUnits), card("b", kUnits)});
  std::vector<std::string> ids;
  cards.for_each_id([&](const std::string& id, const Device&) { ids.push_back(id); });
  HoldingsBuilder builder;
  const auto pod = std::make_shared<const Holder>(holder("p"));
  for (const std::string& id : ids) builder.add("x.com/m", id, pod);
  const HoldersOfIds held = std::move(builder).build().at("x.com/m");
  unsigned asked = 0;
  const HoldersOfIds known = by_card(held, cards, [&](const Holder&) {
    ++asked;
    return cards.find("b::0");
  });
  CHECK(asked == 1);
  CHECK(known.all().size() == 2 * kUnits);
  CHECK(known == held);
}

TEST_CASE("holders are renamed by the given function, and holders that it does not know keep their name") {
  const HoldersOfIds held{{"a::0", holder("p")}, {"a::1", holder("q")}};
  const auto called = [](const Holder& of) { return of.pod == "p" ? holder("trainer") : of; };
  CHECK(by_name(held, called) == HoldersOfIds{{"a::0", holder("trainer")}, {"a::1", holder("q")}});
  CHECK(by_name({}, called) == HoldersOfIds());
}
