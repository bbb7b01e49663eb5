#include "supervisor/device_program.hpp"

#include <doctest/doctest.h>

using namespace plughost;
using namespace std::chrono_literals;
using End = Subprocess::Result::End;

TEST_CASE("a command line has the device's values, or says which one is missing") {
  const std::vector<Template> command{Template("/bin/a"), Template("{resource}/{id}"),
                                      Template("--serial={serial}")};
  const Device device{.id = "a", .attributes = {{.name = "serial", .value = "S 1"}}};
  CHECK(command_line(command, "x.com/r", device).words ==
        std::vector<std::string>{"/bin/a", "x.com/r/a", "--serial=S 1"});
  const CommandLine line = command_line(command, "x.com/r", {.id = "b"});
  CHECK(line.words.empty());
  CHECK(line.missing == "serial");
}

TEST_CASE("durations are told in seconds where they are whole") {
  CHECK(duration_text(20s) == "20 s");
  CHECK(duration_text(2500ms) == "2500 ms");
}

TEST_CASE("a verdict is the first line of the output, or what became of the program") {
  const auto verdict = [](End end, int number, const std::string& output) {
    return plughost::verdict("the health check", {.end = end, .number = number, .output = output});
  };
  CHECK(verdict(End::kExited, 0, "all is well").empty());
  CHECK(verdict(End::kExited, 3, "") == "the health check exited with 3");
  CHECK(verdict(End::kExited, 3, " \n\t\n") == "the health check exited with 3");
  CHECK(verdict(End::kSignalled, 11, "") == "the health check was ended by signal 11");
  CHECK(verdict(End::kExited, 1, "\n  too hot \r\nsecond line\n") == "too hot");
  CHECK(verdict(End::kExited, 1, "a\tb\x1b[0m") == "a b [0m");
  CHECK(verdict(End::kExited, 1, "\xff 90\xc2\xb0 \xe2\x82") == "? 90\xc2\xb0 ??");
  const std::string longest = verdict(End::kExited, 1, std::string(1000, 'x'));
  CHECK(longest.size() <= 200);
  CHECK(longest.size() > 190);
}
