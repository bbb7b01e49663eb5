#include "host/programs/program.hpp"

#include <doctest/doctest.h>

#include <cerrno>

using namespace plughost;
using namespace std::chrono_literals;
using How = Ending::How;

TEST_CASE("a duration is written in seconds if it is a whole number of seconds, else in milliseconds") {
  CHECK(duration_text(20s) == "20 s");
  CHECK(duration_text(2500ms) == "2500 ms");
}

TEST_CASE("the reason of a failed check is its first line of output, or else how the check ended") {
  const auto why = [](How how, int number, const std::string& output) {
    return why_failed({.what = "the health check", .words = Program::Errors::kWithOutput},
                      {.how = how, .number = number, .timeout = 5s, .output = output});
  };
  CHECK(why(How::kExited, 0, "all is well").empty());
  CHECK(why(How::kExited, 3, "") == "the health check exited with 3");
  CHECK(why(How::kExited, 3, " \n\t\n") == "the health check exited with 3");
  CHECK(why(How::kSignalled, 11, "") == "the health check was ended by signal 11");
  CHECK(why(How::kExited, 1, "\n  too hot \r\nsecond line\n") == "too hot");
  CHECK(why(How::kSignalled, 11, "too hot") == "too hot");
  CHECK(why(How::kExited, 1, "a\tb\x1b[0m") == "a b [0m");
  CHECK(why(How::kExited, 1, "\xff 90\xc2\xb0 \xe2\x82") == "? 90\xc2\xb0 ??");
  const std::string longest = why(How::kExited, 1, std::string(1000, 'x'));
  CHECK(longest.size() <= 200);
  CHECK(longest.size() > 190);
  CHECK(why(How::kOverdue, 0, "working") == "the health check was killed after 5 s");
  CHECK(why(How::kNotStarted, ENOENT, "") == "the health check cannot be started: No such file or directory");
  CHECK(why(How::kHangs, 0, "") ==
        "the health check was not started: earlier runs that were killed have not ended");
  CHECK(why(How::kNoMeans, EMFILE, "") == "the health check cannot be started: Too many open files");
  CHECK(why(How::kUntold, 0, "") == "the health check has ended, and its exit status is unknown");
}

TEST_CASE(
    "the reason of other programs says how the program ended, followed by the last line of its standard "
    "error") {
  const auto why = [](Ending ending) {
    ending.output = "{}";
    ending.errors = "one\nno controller\n";
    return why_failed({.late = ": it printed nothing for "}, ending);
  };
  CHECK(why({.how = How::kExited}).empty());
  CHECK(why({.how = How::kExited, .number = 3}) == "the program exited with 3: no controller");
  CHECK(why({.how = How::kSignalled, .number = 9}) == "the program was ended by signal 9: no controller");
  CHECK(why({.how = How::kOverdue, .timeout = 300ms}) ==
        "the program was killed: it printed nothing for 300 ms: no controller");
  CHECK(why({.how = How::kUntold}) == "the program has ended, and its exit status is unknown: no controller");
}

TEST_CASE("a program that printed too much is reported as killed for that, even if it exited by itself") {
  const Ending ending{.how = How::kExited, .output = std::string(4u << 20, 'x'), .excess = true};
  CHECK(why_failed({}, ending) == "the program was killed: it printed more than 4 MiB");
  // A check's output beyond the limit is ignored.
  CHECK(why_failed({.words = Program::Errors::kWithOutput}, ending).empty());
}

TEST_CASE("last_words returns the last line that is not empty") {
  CHECK(last_words("").empty());
  CHECK(last_words("\n \n").empty());
  CHECK(last_words("one\ntwo\n\n") == ": two");
}
