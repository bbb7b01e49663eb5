#include "daemon/handover/inheritance.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

constexpr Inheritance::Clock::time_point kNow{1000h};

}  // namespace

TEST_CASE("a successor reads what its predecessor has written, with times as ages") {
  const Inheritance told{.resources = {{"a.b/c", "a.b/c"}, {"a.b/nic-1", "a.b/nic-{numa}"}},
                         .flapping = {{"a.b/c", {{"one", kNow - 3s}, {"tab\t \"ü", kNow - 1ms}}}},
                         .faults = {{"a.b/c", {{"two", "XID 79: it has fallen off the bus"}}}},
                         .holds = {{.name = {"a.b/c", "one"}, .who = "default/train", .age = 5s},
                                   {.name = {"a.b/c", "two"}, .who = "", .age = 20ms}},
                         .reload = true};
  const Inheritance read = Inheritance::of(Json::parse(told.json(kNow).dump()), kNow);
  CHECK(read == told);
  const Inheritance later = Inheritance::of(told.json(kNow), kNow + 1h);
  CHECK(later.flapping.at("a.b/c").at("one") == kNow + 1h - 3s);
  CHECK(Inheritance::of(Inheritance().json(kNow), kNow) == Inheritance());
}

TEST_CASE("members of a predecessor that are missing, or of another type, have their defaults") {
  for (const char* text : {"null", "[]", "{}", "7", R"({"resources": [1], "flapping": {"a.b/c": 7},
        "faults": {"a.b/c": [7]}, "holds": {"a": 1}, "reload": null, "other": 1})"}) {
    CAPTURE(text);
    CHECK(Inheritance::of(Json::parse(text), kNow) == Inheritance());
  }
  const Inheritance odd = Inheritance::of(Json::parse(R"({"holds": [7, {"resource": "a.b/c"}]})"), kNow);
  CHECK(odd.holds.size() == 2);
  CHECK(odd.holds[1].name == Ledger::Name{"a.b/c", ""});
}
