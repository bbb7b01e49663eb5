#include "daemon/handover/take_over.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>

#include "unit/run_until.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A daemon that takes over from another.
struct Taking : TakeOver::Owner {
  explicit Taking(std::function<Json()> end)
      : take_over(loop, workers,
                  {.inheritance = {.resources = {{"a.b/c", "a.b/c"}}},
                   .connection = nullptr,
                   .end = std::move(end)},
                  *this) {}

  std::string missing(const Inheritance& from, bool attached) const override {
    CHECK(from.resources.size() == 1);
    return attached ? lacks_stream : lacks;
  }
  void register_beside() override { lacks_stream = "a.b/c is not attached yet"; }
  void on_taken_over(const Inheritance& told) override { last = told; }
  void on_failed(const std::string& text) override { why = text; }

  EventLoop loop;
  Workers workers{loop, 1};
  std::string lacks = "a.b/c has no list yet";
  std::string lacks_stream;  // set once it registers
  std::optional<Inheritance> last;
  std::string why;
  TakeOver take_over;
};

Json last_word() {
  Json told = Inheritance{.reload = true}.json(Inheritance::Clock::now());
  told["error"] = "";
  return told;
}

}  // namespace

TEST_CASE("a daemon takes over once nothing is missing, and learns the last that its predecessor knew") {
  unsigned asked = 0;
  Taking daemon([&] {
    ++asked;
    return last_word();
  });
  daemon.take_over.on_change();
  run_once(daemon.loop);
  CHECK(asked == 0);
  daemon.lacks.clear();
  SUBCASE("that is told") { daemon.take_over.on_change(); }
  SUBCASE("nobody tells") { EventLoop::Clock::advance(1s); }
  REQUIRE(run_until(daemon.loop, [&] { return daemon.last.has_value(); }));
  CHECK(daemon.last->reload);
  daemon.take_over.on_change();
  pass(daemon.loop, TakeOver::kLimit);
  CHECK(asked == 1);
  CHECK(daemon.why.empty());
}

TEST_CASE("a daemon registers beside its predecessor once it has its lists, and takes over once it serves") {
  unsigned asked = 0;
  Taking daemon([&] { return ++asked == 1 ? Json{{"error", ""}, {"register", true}} : last_word(); });
  daemon.lacks.clear();
  daemon.take_over.on_change();
  REQUIRE(run_until(daemon.loop, [&] { return !daemon.lacks_stream.empty(); }));
  daemon.take_over.on_change();
  run_once(daemon.loop);
  CHECK(asked == 1);
  SUBCASE("it does") {
    daemon.lacks_stream.clear();
    daemon.take_over.on_change();
    REQUIRE(run_until(daemon.loop, [&] { return daemon.last.has_value(); }));
    CHECK(asked == 2);
  }
  SUBCASE("it does not in time") {
    pass(daemon.loop, TakeOver::kLimit);
    CHECK(daemon.why == "a.b/c is not attached yet");
    CHECK(asked == 1);
  }
}

TEST_CASE("a daemon that cannot take over in time gives up with what is missing") {
  Taking daemon(last_word);
  pass(daemon.loop, TakeOver::kLimit - 1ms);
  CHECK(daemon.why.empty());
  pass(daemon.loop, 1ms);
  CHECK(daemon.why == "a.b/c has no list yet");
}

TEST_CASE("a daemon whose predecessor does not end gives up with the reason") {
  std::function<Json()> end;
  std::string wanted;
  SUBCASE("refused") {
    end = [] { return Json{{"error", "no"}}; };
    wanted = "no";
  }
  SUBCASE("no answer") {
    end = []() -> Json { throw std::runtime_error("it is gone"); };
    wanted = "it is gone";
  }
  Taking daemon(end);
  daemon.lacks.clear();
  daemon.take_over.on_change();
  REQUIRE(run_until(daemon.loop, [&] { return !daemon.why.empty(); }));
  CHECK(daemon.why == wanted);
  CHECK_FALSE(daemon.last);
}
