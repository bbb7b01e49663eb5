#include "kubernetes/apiserver/reflector.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace plughost;
using namespace std::chrono_literals;

namespace {

struct Told {
  Reflector reflector{7};
  Reflector::Time now = Reflector::Time(100h);

  template <typename Step>
  Step step() {
    const auto next = reflector.next(now);
    REQUIRE(std::holds_alternative<Step>(next));
    return std::get<Step>(next);
  }
  void list(const std::string& version) {
    CHECK(step<Reflector::List>().continue_token.empty());
    reflector.page(version, "", now);
  }
  std::string watch() {
    const std::string from = step<Reflector::Watch>().resource_version;
    reflector.began(now);
    return from;
  }
  // Advances the time to the reflector's next step, and returns how long the reflector waits.
  std::chrono::milliseconds pause() {
    const auto until = step<Reflector::Wait>().until;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - now);
    now = until - 1ms;
    CHECK(step<Reflector::Wait>().until == until);
    now = until;
    return left;
  }
  void fail(int code, std::optional<std::chrono::seconds> retry_after = std::nullopt) {
    reflector.failed({.code = code, .error = "code " + std::to_string(code), .retry_after = retry_after},
                     now);
  }
};

}  // namespace

TEST_CASE("a reflector first lists, and then watches from the list's version") {
  Told told;
  CHECK_FALSE(told.reflector.listed());
  CHECK_FALSE(told.reflector.heard());
  CHECK_FALSE(told.reflector.silent_at());
  told.list("10");
  CHECK(told.reflector.listed());
  CHECK(told.reflector.heard() == told.now);
  CHECK(told.watch() == "10");
  told.step<Reflector::Rest>();
}

TEST_CASE("during a list nothing else is requested") {
  Told told;
  told.step<Reflector::List>();
  told.step<Reflector::Rest>();
}

TEST_CASE("a list of several pages is complete with the last one, and watched from its version") {
  Told told;
  told.step<Reflector::List>();
  told.reflector.page("10", "more", told.now);
  CHECK_FALSE(told.reflector.listed());
  CHECK(told.step<Reflector::List>().continue_token == "more");
  told.reflector.page("11", "", told.now);
  CHECK(told.reflector.listed());
  CHECK(told.watch() == "11");
}

TEST_CASE("events and bookmarks give the version of the next watch") {
  Told told;
  told.list("10");
  told.watch();
  told.now += 5min;
  told.reflector.event("15", told.now);
  CHECK(told.reflector.heard() == told.now);
  told.reflector.event("", told.now);
  told.reflector.ended(told.now);
  CHECK(told.watch() == "15");
}

TEST_CASE(
    "after a watch that lasted long enough the next watch begins at once, and after a shorter one later") {
  Told told;
  told.list("10");
  told.watch();
  told.now += Reflector::kLived;
  told.reflector.ended(told.now);
  told.watch();
  told.now += Reflector::kLived - 1ms;
  told.reflector.ended(told.now);
  CHECK(told.pause() >= 500ms);
  told.step<Reflector::Watch>();
}

TEST_CASE("failures are followed by random pauses from half a second to 30 s") {
  Told told;
  std::vector<std::chrono::milliseconds> pauses;
  for (int i = 0; i < 40; ++i) {
    told.step<Reflector::List>();
    told.fail(0);
    pauses.push_back(told.pause());
  }
  CHECK(pauses[0] >= 500ms);
  CHECK(pauses[0] <= 1s);
  CHECK(pauses[1] >= 1s);
  CHECK(pauses[1] <= 2s);
  CHECK(*std::ranges::max_element(pauses) <= 30s);
  CHECK(*std::min_element(pauses.begin() + 6, pauses.end()) >= 15s);
  CHECK(*std::min_element(pauses.begin() + 6, pauses.end()) != *std::ranges::max_element(pauses));
}

TEST_CASE("without a server the pauses do not grow, and those after other failures do") {
  Told told;
  for (int i = 0; i < 40; ++i) {
    told.step<Reflector::List>();
    told.reflector.failed({.error = "Connection refused", .nobody = true}, told.now);
    CHECK(told.reflector.error() == "Connection refused");
    const auto pause = told.pause();
    CHECK(pause >= 500ms);
    CHECK(pause <= 1s);
  }
  told.step<Reflector::List>();
  told.fail(503);
  CHECK(told.pause() <= 1s);
  told.step<Reflector::List>();
  told.fail(503);
  CHECK(told.pause() >= 1s);
}

TEST_CASE("a watch that lasted resets the pause, and its end is no error") {
  Told told;
  for (int i = 0; i < 8; ++i) {
    told.step<Reflector::List>();
    told.fail(500);
    told.pause();
  }
  told.list("10");
  CHECK(told.reflector.error().empty());
  told.watch();
  told.now += Reflector::kLived;
  told.fail(0);
  CHECK(told.reflector.error().empty());
  CHECK(told.pause() <= 1s);
  told.step<Reflector::Watch>();
}

TEST_CASE("after a watch that broke early there is an error until the next watch delivers an event") {
  Told told;
  told.list("10");
  told.watch();
  told.now += 1s;
  told.fail(0);
  CHECK(told.reflector.error() == "code 0");
  told.pause();
  told.watch();
  CHECK(told.reflector.error() == "code 0");
  told.reflector.event("11", told.now);
  CHECK(told.reflector.error().empty());
}

TEST_CASE("a watch that lasts without an event is no error, although the one before it broke early") {
  Told told;
  told.list("10");
  told.watch();
  told.fail(0);
  told.pause();
  told.watch();
  told.now += Reflector::kLived - 1ms;
  told.reflector.lived(told.now);
  CHECK(told.reflector.error() == "code 0");
  told.now += 1ms;
  told.reflector.lived(told.now);
  CHECK(told.reflector.error().empty());
}

TEST_CASE("a server's Retry-After delays the next request") {
  Told told;
  told.step<Reflector::List>();
  told.fail(429, 20s);
  CHECK(told.pause() == 20s);
  told.step<Reflector::List>();
  told.fail(503, 0s);
  CHECK(told.pause() >= 1s);
}

TEST_CASE("after a 410 the objects are listed again at once, and after a second 410 only after a delay") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    Told told;
    told.list("10");
    told.step<Reflector::Watch>();
    if (begun) told.reflector.began(told.now);
    told.fail(410);
    CHECK(told.reflector.error().empty());
    CHECK(told.reflector.listed());
    told.list("20");
    CHECK(told.watch() == "20");
    told.fail(410);
    CHECK(told.reflector.error() == "code 410");
    told.pause();
    told.list("30");
    told.watch();
    told.reflector.event("31", told.now);
    told.fail(410);
    told.list("40");
  }
}

TEST_CASE("an expired page begins the list again, from the first page") {
  Told told;
  told.step<Reflector::List>();
  told.reflector.page("10", "more", told.now);
  CHECK(told.step<Reflector::List>().continue_token == "more");
  told.fail(410);
  CHECK(told.step<Reflector::List>().continue_token.empty());
}

TEST_CASE("a page that fails begins the list again") {
  Told told;
  told.step<Reflector::List>();
  told.reflector.page("10", "more", told.now);
  told.step<Reflector::List>();
  told.fail(500);
  told.pause();
  CHECK(told.step<Reflector::List>().continue_token.empty());
}

TEST_CASE(
    "a watch refused with 400, 404, 409, 422 or 504 leads to a new list, and other failures to a new watch") {
  for (const int code : {400, 404, 409, 422, 504}) {
    CAPTURE(code);
    Told told;
    told.list("10");
    told.step<Reflector::Watch>();
    told.fail(code);
    told.pause();
    told.step<Reflector::List>();
  }
  for (const int code : {0, 401, 403, 408, 429, 500, 503}) {
    CAPTURE(code);
    Told told;
    told.list("10");
    told.step<Reflector::Watch>();
    told.fail(code);
    told.pause();
    CHECK(told.step<Reflector::Watch>().resource_version == "10");
  }
}

TEST_CASE("a 403 is an error only after a minute") {
  Told told;
  const auto since = told.now;
  while (told.now < since + Reflector::kForbiddenMayPass) {
    told.step<Reflector::List>();
    told.fail(403);
    CHECK(told.reflector.error().empty());
    told.pause();
  }
  told.step<Reflector::List>();
  told.fail(403);
  CHECK(told.reflector.error() == "code 403");
  told.pause();
  told.list("10");
  CHECK(told.reflector.error().empty());
  told.step<Reflector::Watch>();
  told.fail(403);
  CHECK(told.reflector.error().empty());
}

TEST_CASE("a watch requests its end within five to six minutes, and is dead after seven silent ones") {
  Told told;
  told.list("10");
  const auto watch = told.step<Reflector::Watch>();
  CHECK(watch.timeout >= 300s);
  CHECK(watch.timeout <= 360s);
  CHECK(told.reflector.silent_at() == told.now + 7min);
  told.now += 3s;
  told.reflector.began(told.now);
  CHECK(told.reflector.silent_at() == told.now + 7min);
  told.now += 1min;
  told.reflector.event("11", told.now);
  CHECK(told.reflector.silent_at() == told.now + 7min);
  told.reflector.ended(told.now);
  CHECK_FALSE(told.reflector.silent_at());
}
