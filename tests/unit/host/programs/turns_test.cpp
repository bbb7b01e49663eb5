#include "host/programs/programs.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace plughost;

namespace {

struct Waiting {
  Turns turns;

  std::vector<Turns::Ticket> wait(Turns::Line line, std::size_t count) {
    std::vector<Turns::Ticket> tickets;
    for (std::size_t i = 0; i < count; ++i) tickets.push_back(turns.wait(line));
    return tickets;
  }
  // Returns the tickets of all programs that may now run.
  std::vector<Turns::Ticket> go() {
    std::vector<Turns::Ticket> gone;
    while (const auto ticket = turns.next()) gone.push_back(*ticket);
    return gone;
  }
};

}  // namespace

TEST_CASE("a queue's limit holds, and a place goes to the longest waiting program") {
  Waiting programs;
  const auto line = programs.turns.open(Purpose::kHealth, 2);
  const auto tickets = programs.wait(line, 4);
  CHECK(programs.go() == std::vector{tickets[0], tickets[1]});
  programs.turns.leave(line, tickets[1]);
  CHECK(programs.go() == std::vector{tickets[2]});
  programs.turns.leave(line, tickets[3]);  // this ticket still waits, and has no place that becomes free
  programs.turns.leave(line, tickets[0]);
  CHECK(programs.go().empty());
  const auto late = programs.wait(line, 2);
  CHECK(programs.go() == std::vector{late[0]});
}

TEST_CASE("all queues together have one limit") {
  Waiting programs;
  const auto one = programs.turns.open(Purpose::kPreStart, Turns::kNoLimit);
  const auto other = programs.turns.open(Purpose::kPreStart, Turns::kNoLimit);
  const auto tickets = programs.wait(one, 20);
  const auto more = programs.wait(other, 20);
  CHECK(programs.go().size() == Turns::kAtOnce);
  programs.turns.leave(one, tickets[3]);
  programs.turns.leave(other, more[0]);
  CHECK(programs.go() == std::vector{more[12], more[13]});
}

TEST_CASE("four programs of each other purpose run, however many programs of one purpose run") {
  Waiting programs;
  const auto starts = programs.turns.open(Purpose::kPreStart, Turns::kNoLimit);
  programs.wait(starts, 100);
  CHECK(programs.go().size() == 32);
  for (const Purpose purpose : {Purpose::kHealth, Purpose::kList, Purpose::kAllocate, Purpose::kRemove}) {
    const auto line = programs.turns.open(purpose, Turns::kNoLimit);
    const auto waiting = programs.wait(line, 6);
    CHECK(programs.go() == std::vector(waiting.begin(), waiting.begin() + 4));
    programs.turns.leave(line, waiting[0]);
    CHECK(programs.go() == std::vector{waiting[4]});
  }
}

TEST_CASE("of the purposes the one with the fewest running programs goes first") {
  Waiting programs;
  const auto starts = programs.turns.open(Purpose::kPreStart, Turns::kNoLimit);
  const auto prepared = programs.wait(starts, 40);
  CHECK(programs.go().size() == 32);
  const auto checks = programs.turns.open(Purpose::kHealth, Turns::kNoLimit);
  const auto checked = programs.wait(checks, 8);
  CHECK(programs.go().size() == 4);
  // 36 programs run, four more than the shared limit. After five have ended, one place is free. A health
  // check gets it, because 4 checks and 27 starts run.
  for (std::size_t i = 0; i < 5; ++i) programs.turns.leave(starts, prepared[i]);
  CHECK(programs.go() == std::vector{checked[4]});
}

TEST_CASE("programs that stay running count for no limit, and no limit delays them") {
  Waiting programs;
  const auto stays = programs.turns.open(Purpose::kStay, Turns::kNoLimit);
  programs.wait(stays, 100);
  CHECK(programs.go().size() == 100);
  const auto starts = programs.turns.open(Purpose::kPreStart, Turns::kNoLimit);
  programs.wait(starts, 40);
  CHECK(programs.go().size() == 32);
  const auto last = programs.wait(stays, 1);
  CHECK(programs.go() == last);
  programs.turns.leave(stays, last[0]);
  CHECK(programs.go().empty());
}

TEST_CASE("a closed queue gives no turns any more") {
  Waiting programs;
  const auto line = programs.turns.open(Purpose::kHealth, 1);
  const auto tickets = programs.wait(line, 2);
  CHECK(programs.go().size() == 1);
  for (const auto ticket : tickets) programs.turns.leave(line, ticket);
  programs.turns.close(line);
  const auto other = programs.turns.open(Purpose::kHealth, 1);
  CHECK(other != line);
  CHECK(programs.go().empty());
  CHECK(programs.go() == programs.wait(other, 0));
}
