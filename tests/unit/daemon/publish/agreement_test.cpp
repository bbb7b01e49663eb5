#include "daemon/publish/allocatable_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

constexpr Agreement::Time kStart{1000h};

Inventory list(const Texts& healthy, const Texts& sick = {}) {
  std::vector<Device> devices;
  for (const std::string& id : healthy) devices.push_back({.id = id});
  for (const std::string& id : sick) devices.push_back({.id = id, .error = "broken"});
  return Inventory(std::move(devices));
}

const Inventory kTwo = list({"a", "b"});

// Updates the agreement with a kubelet that counts only a.
bool take_wrong(Agreement& agreement, Agreement::Time now, const Inventory& sent = kTwo,
                Agreement::Time attached_since = kStart) {
  return agreement.update(sent, attached_since, compare(sent, {"a"}), now);
}

bool take_right(Agreement& agreement, Agreement::Time now) {
  return agreement.update(kTwo, kStart, compare(kTwo, {"a", "b"}), now);
}

TEST_CASE("counts are compared with the Healthy ids, including replicas") {
  CHECK(compare(list({"a", "b"}, {"c"}), {"a", "b"}).none());
  CHECK(compare(list({}, {"a"}), {}).none());
  Device shared{.id = "a"};
  shared.replicas = 11;
  std::vector<std::string> ids;
  for (unsigned n = 0; n < 11; ++n) ids.push_back(replica_id(shared, n));
  std::ranges::sort(ids);  // a::10 sorts before a::2
  CHECK(compare(Inventory({shared}), ids).none());
  const Disagreement found = compare(list({"a", "b", "c"}, {"d"}), {"b", "d", "x"});
  CHECK(found.missing == Texts{"a", "c"});
  CHECK(found.extra == Texts{"d", "x"});
  CHECK(found.healthy == 3);
}

TEST_CASE("the text of a disagreement has the devices that the kubelet does not count or must not count") {
  CHECK(compare(list({"a", "b"}), {"b"}).text() == "of 2 Healthy devices it does not count 1 (a)");
  CHECK(compare(list({"a"}), {"a", "x"}).text() == "it counts 1 (x) that it was not sent as Healthy");
  CHECK(compare(list({"a", "b", "c", "d"}), {"x"}).text() ==
        "of 4 Healthy devices it does not count 4 (a, b, c, …), and it counts 1 (x) that it was not sent as "
        "Healthy");
  CHECK(compare(list({"a", "b", "c"}), {}).text() == "of 3 Healthy devices it does not count 3 (a, b, c)");
}

TEST_CASE("a disagreement that lasts 5 s leads to one new registration") {
  Agreement agreement;
  CHECK_FALSE(take_wrong(agreement, kStart));
  CHECK_FALSE(take_wrong(agreement, kStart + 4999ms));
  CHECK_FALSE(agreement.disagrees());
  CHECK(take_wrong(agreement, kStart + 5s));
  CHECK(agreement.disagrees());
  CHECK_FALSE(take_wrong(agreement, kStart + 5s + 1ms));
  CHECK(agreement.disagrees());
}

TEST_CASE("an agreement in between ends the disagreement") {
  Agreement agreement;
  take_wrong(agreement, kStart);
  take_right(agreement, kStart + 4s);
  CHECK(agreement.disagreement().none());
  CHECK_FALSE(take_wrong(agreement, kStart + 5s));
  CHECK_FALSE(take_wrong(agreement, kStart + 9s));
  CHECK(take_wrong(agreement, kStart + 10s));
  take_right(agreement, kStart + 11s);
  CHECK_FALSE(agreement.disagrees());
}

TEST_CASE("a disagreement about a new list, or on a new stream, must last 5 s again") {
  Agreement agreement;
  take_wrong(agreement, kStart);
  SUBCASE("a new list") {
    CHECK_FALSE(take_wrong(agreement, kStart + 5s, list({"a", "c"})));
    CHECK_FALSE(take_wrong(agreement, kStart + 9s, list({"a", "c"})));
    CHECK(take_wrong(agreement, kStart + 10s, list({"a", "c"})));
  }
  SUBCASE("a new stream") {
    const auto opened = kStart + 1ms;
    CHECK_FALSE(take_wrong(agreement, kStart + 5s, kTwo, opened));
    CHECK_FALSE(take_wrong(agreement, kStart + 9999ms, kTwo, opened));
    CHECK(take_wrong(agreement, kStart + 10s, kTwo, opened));
  }
  SUBCASE("the former list on the former stream") { CHECK(take_wrong(agreement, kStart + 5s, kTwo, kStart)); }
}

TEST_CASE(
    "a disagreement that outlasts a registration leads to further ones after 10 s, 20 s and so on, at most "
    "10 minutes") {
  Agreement agreement;
  take_wrong(agreement, kStart);
  auto now = kStart + 5s;
  REQUIRE(take_wrong(agreement, now));
  for (const auto pause : {10s, 20s, 40s, 80s, 160s, 320s, 600s, 600s}) {
    CHECK_FALSE(take_wrong(agreement, now + 1s));
    CHECK_FALSE(take_wrong(agreement, now + pause - 1ms));
    now += pause;
    CHECK(take_wrong(agreement, now));
  }
  take_right(agreement, now + 1s);
  take_wrong(agreement, now + 2s);
  CHECK(take_wrong(agreement, now + 7s));
}

TEST_CASE("after a new registration, a disagreement must last 5 s again, even if the pause is over") {
  Agreement agreement;
  take_wrong(agreement, kStart);
  REQUIRE(take_wrong(agreement, kStart + 5s));
  // The kubelet was not queried for longer than the pause.
  CHECK_FALSE(take_wrong(agreement, kStart + 16s));
  CHECK_FALSE(take_wrong(agreement, kStart + 20s + 999ms));
  CHECK(take_wrong(agreement, kStart + 21s));
}

TEST_CASE("a disagreement long after an earlier one leads to a registration after 5 s again") {
  Agreement agreement;
  take_wrong(agreement, kStart);
  auto now = kStart + 5s;
  for (const auto pause : {10s, 20s, 40s}) {
    REQUIRE(take_wrong(agreement, now));
    take_wrong(agreement, now + 1s);
    now += pause;
  }
  take_right(agreement, now);
  now += 1h;
  take_wrong(agreement, now);
  CHECK(take_wrong(agreement, now + 5s));
  // The pauses begin again with the shortest, too.
  take_wrong(agreement, now + 6s);
  CHECK_FALSE(take_wrong(agreement, now + 15s - 1ms));
  CHECK(take_wrong(agreement, now + 15s));
}

TEST_CASE("a kubelet that counts a held share disagrees with the list that was sent") {
  Inventory sent({{.id = "a", .replicas = 2, .reasons = {Reason::holder("held", {1})}}});
  CHECK(compare(sent, {"a::0"}).none());
  CHECK(compare(sent, {"a::0", "a::1"}).extra == std::vector<std::string>{"a::1"});
}

}  // namespace
}  // namespace plughost
