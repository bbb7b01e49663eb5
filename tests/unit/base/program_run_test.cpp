#include "base/program_run.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using End = ProgramRun::Outcome::End;

namespace {

Program shell(const std::string& script) {
  return {.command = {"/bin/sh", "-c", script}, .errors = Program::Errors::kApart};
}

}  // namespace

TEST_CASE("a run returns what the program wrote, one stream apart from the other") {
  ProgramRun run;
  Program program = shell("read line; echo \"got $line\"; echo trouble >&2; exit 3");
  program.input = "this\n";
  const ProgramRun::Outcome outcome = run.run(program, 1min);
  CHECK(outcome.end == End::kEnded);
  CHECK(outcome.result.number == 3);
  CHECK(outcome.result.output == "got this\n");
  CHECK(outcome.result.errors == "trouble\n");
}

TEST_CASE("a run that takes too long is killed, and what the program has said by then is kept") {
  ProgramRun run;
  const ProgramRun::Outcome outcome = run.run(shell("echo waiting >&2; exec sleep 1000"), 300ms);
  CHECK(outcome.end == End::kOverdue);
  CHECK(outcome.result.errors == "waiting\n");
}

TEST_CASE("a run is stopped from another thread, and there is no other after it") {
  const test::TempDir dir;
  ProgramRun run;
  const std::jthread stopper([&] {
    while (!std::filesystem::exists(dir.at("begun"))) std::this_thread::sleep_for(1ms);
    run.stop();
  });
  CHECK(run.run(shell("touch " + dir.at("begun").string() + "; exec sleep 1000"), 1min).end == End::kStopped);
  CHECK(run.run(shell("touch " + dir.at("again").string()), 1min).end == End::kStopped);
  CHECK_FALSE(std::filesystem::exists(dir.at("again")));
}

TEST_CASE("more output than is allowed ends the program, and its children with it") {
  ProgramRun run;
  Program program = shell("yes & yes");
  program.most_output = 100'000;
  program.excess = Program::Excess::kFatal;
  const ProgramRun::Outcome outcome = run.run(program, 1min);
  CHECK(outcome.end == End::kEnded);
  CHECK(outcome.result.excess);
  CHECK(outcome.result.output.size() == 100'000);
}

TEST_CASE("a program that has ended with too much output is past killing") {
  ProgramRun run;
  Program program = shell("printf 0123456789");  // read when it has ended, more often than not
  program.most_output = 5;
  program.excess = Program::Excess::kFatal;
  for (int i = 0; i < 20; ++i) {
    const ProgramRun::Outcome outcome = run.run(program, 1min);
    CHECK(outcome.result.excess);
    CHECK(outcome.result.output == "01234");
  }
}

TEST_CASE("of a flood of errors the end is kept") {
  ProgramRun run;
  const ProgramRun::Outcome outcome = run.run(shell("head -c 1000000 /dev/zero >&2; echo the end >&2"), 1min);
  CHECK(outcome.result.errors.size() == Subprocess::kMostErrors);
  CHECK(outcome.result.errors.ends_with("the end\n"));
}
