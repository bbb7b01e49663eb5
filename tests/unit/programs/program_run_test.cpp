#include "programs/program_run.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <thread>

#include "programs/subprocess.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using How = Ending::How;

namespace {

Program shell(const std::string& script) {
  return {.command = {"/bin/sh", "-c", script}, .errors = Program::Errors::kApart};
}

}  // namespace

TEST_CASE("a run returns what the program wrote, one stream apart from the other") {
  ProgramRun run;
  Program program = shell("read line; echo \"got $line\"; echo trouble >&2; exit 3");
  program.input = "this\n";
  const auto ending = run.run(program);
  REQUIRE(ending);
  CHECK(ending->how == How::kExited);
  CHECK(ending->number == 3);
  CHECK(ending->output == "got this\n");
  CHECK(ending->errors == "trouble\n");
}

TEST_CASE("a run that takes too long is killed, and what the program has said by then is kept") {
  ProgramRun run;
  Program program = shell("echo waiting >&2; exec sleep 1000");
  program.timeout = 300ms;
  const auto ending = run.run(program);
  REQUIRE(ending);
  CHECK(ending->how == How::kOverdue);
  CHECK(ending->errors == "waiting\n");
}

TEST_CASE("a run is stopped from another thread, and there is no other after it") {
  const test::TempDir dir;
  ProgramRun run;
  const std::jthread stopper([&] {
    while (!std::filesystem::exists(dir.at("begun"))) std::this_thread::sleep_for(1ms);
    run.stop();
  });
  CHECK_FALSE(run.run(shell("touch " + dir.at("begun").string() + "; exec sleep 1000")));
  CHECK_FALSE(run.run(shell("touch " + dir.at("again").string())));
  CHECK_FALSE(std::filesystem::exists(dir.at("again")));
}

TEST_CASE("more output than is allowed ends the program, and its children with it") {
  ProgramRun run;
  Program program = shell("yes & yes");
  program.most_output = 100'000;
  program.excess = Program::Excess::kFatal;
  const auto ending = run.run(program);
  REQUIRE(ending);
  CHECK(ending->how == How::kSignalled);
  CHECK(ending->excess);
  CHECK(ending->output.size() == 100'000);
}

TEST_CASE("a program that has ended with too much output is past killing") {
  ProgramRun run;
  Program program = shell("printf 0123456789");  // read when it has ended, more often than not
  program.most_output = 5;
  program.excess = Program::Excess::kFatal;
  for (int i = 0; i < 20; ++i) {
    const auto ending = run.run(program);
    REQUIRE(ending);
    CHECK(ending->excess);
    CHECK(ending->output == "01234");
  }
}

TEST_CASE("of a flood of errors the end is kept") {
  ProgramRun run;
  const auto ending = run.run(shell("head -c 1000000 /dev/zero >&2; echo the end >&2"));
  REQUIRE(ending);
  CHECK(ending->errors.size() == Subprocess::kMostErrors);
  CHECK(ending->errors.ends_with("the end\n"));
}
