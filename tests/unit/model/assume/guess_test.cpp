#include "model/assume/answer.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

IdSet ids(const std::vector<std::string>& of) { return IdSet::of("x.com/m", of); }

const Guess kGuess{.ids = ids({"2", "1"}), .pod = "a", .containers = {"c0"}, .former = {}};

HeldUnits held_by(const std::string& pod, const std::string& container,
                  const std::vector<std::string>& held = {"1", "2"}) {
  return {.pod_uid = pod, .container = container, .ids = ids(held)};
}

GuessIs is(const Guess& guess, const std::vector<HeldUnits>& held, bool old = false) {
  return settled(guess, held, old);
}

}  // namespace

TEST_CASE("a guess is right or wrong once the checkpoint has its ids, and open or void before") {
  CHECK(is(kGuess, {held_by("a", "c0")}) == GuessIs::kRight);
  CHECK(is(kGuess, {held_by("a", "c0")}, true) == GuessIs::kRight);
  const std::vector<HeldUnits> other{held_by("c", "c0", {"1"}), held_by("b", "c1"),
                                     held_by("a", "c0", {"3"})};
  CHECK(is(kGuess, other) == GuessIs::kWrong);
  CHECK(is(kGuess, other, true) == GuessIs::kWrong);
  for (const std::vector<HeldUnits>& none :
       {std::vector<HeldUnits>{}, {held_by("b", "c0", {"1"})}, {held_by("b", "c0", {"1", "2", "3"})}}) {
    CHECK(is(kGuess, none) == GuessIs::kOpen);
    CHECK(is(kGuess, none, true) == GuessIs::kVoid);
  }
}

TEST_CASE("a container that held the ids before the guess does not decide it") {
  Guess guess = kGuess;
  guess.former = {{"ended", "c0"}};
  CHECK(is(guess, {held_by("ended", "c0")}) == GuessIs::kOpen);
  CHECK(is(guess, {held_by("ended", "c0")}, true) == GuessIs::kVoid);
  CHECK(is(guess, {held_by("b", "c0"), held_by("ended", "c0")}) == GuessIs::kWrong);
  // An init container's ids are given again to a later container.
  guess.former = {{"a", "i0"}};
  CHECK(is(guess, {held_by("a", "i0")}) == GuessIs::kOpen);
  CHECK(is(guess, {held_by("a", "i0"), held_by("a", "c0")}) == GuessIs::kRight);
}

TEST_CASE("a guess is not settled by ids that two pods hold") {
  CHECK(is(kGuess, {held_by("a", "c0"), held_by("b", "c0")}) == GuessIs::kOpen);
  CHECK(is(kGuess, {held_by("b", "c0"), held_by("a", "c0")}, true) == GuessIs::kVoid);
}

TEST_CASE("the holders of ids are all containers with exactly these") {
  const std::vector<HeldUnits> held{held_by("a", "i0"), held_by("a", "c0"), held_by("b", "c0", {"1"}),
                                    held_by("c", "c1", {"1", "2", "3"})};
  CHECK(holders_of(held, ids({"2", "1"})) == AnsweredContainers{{"a", "i0"}, {"a", "c0"}});
  CHECK(holders_of(held, ids({"1"})) == AnsweredContainers{{"b", "c0"}});
  CHECK(holders_of(held, ids({"4"})).empty());
}
