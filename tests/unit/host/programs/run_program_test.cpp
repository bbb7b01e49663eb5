#include "host/programs/subprocess.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <filesystem>

#include "base/system/unique_fd.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using How = Ending::How;

namespace {

Program shell_program(const std::string& script) {
  return {.command = {"/bin/sh", "-c", script}, .errors = Program::Errors::kApart};
}

}  // namespace

TEST_CASE("a run returns both streams of the program separately") {
  Program program = shell_program("read line; echo \"got $line\"; echo trouble >&2; exit 3");
  program.input = "this\n";
  const Ending ending = run_program(program);
  CHECK(ending.how == How::kExited);
  CHECK(ending.number == 3);
  CHECK(ending.output == "got this\n");
  CHECK(ending.errors == "trouble\n");
}

TEST_CASE("a program that exceeds its timeout is killed, and its output so far is returned") {
  Program program = shell_program("echo waiting >&2; exec sleep 1000");
  program.timeout = 300ms;
  const Ending ending = run_program(program);
  CHECK(ending.how == How::kOverdue);
  CHECK(ending.errors == "waiting\n");
}

TEST_CASE("too much output ends the program with its children") {
  Program program = shell_program("yes & yes");
  program.most_output = 100'000;
  program.excess = Program::Excess::kFatal;
  const Ending ending = run_program(program);
  CHECK(ending.how == How::kSignalled);
  CHECK(ending.excess);
  CHECK(ending.output.size() == 100'000);
}

TEST_CASE("a program that has ended with too much output is not killed") {
  Program program = shell_program("printf 0123456789");  // usually ends before its output is read
  program.most_output = 5;
  program.excess = Program::Excess::kFatal;
  for (int i = 0; i < 20; ++i) {
    const Ending ending = run_program(program);
    CHECK(ending.excess);
    CHECK(ending.output == "01234");
  }
}

TEST_CASE("of a very long standard error the end is kept") {
  const Ending ending = run_program(shell_program("head -c 1000000 /dev/zero >&2; echo the end >&2"));
  CHECK(ending.errors.size() == Subprocess::kMostErrors);
  CHECK(ending.errors.ends_with("the end\n"));
}

TEST_CASE("a program whose file is open for writing cannot be started, and is not blamed for it") {
  const test::TempDir dir;
  std::filesystem::copy_file("/bin/true", dir.at("program"));
  const UniqueFd written{::open(dir.at("program").c_str(), O_WRONLY | O_CLOEXEC)};
  REQUIRE(written);
  CHECK(run_program({.command = {dir.at("program").string()}}).how == How::kNoMeans);
}
