#include "base/subprocess.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using End = Subprocess::Result::End;

namespace {

struct Run {
  EventLoop loop;
  std::optional<Subprocess::Result> result;
  bool overdue = false;
  std::optional<Subprocess> process;

  explicit Run(const std::vector<std::string>& command, EventLoop::Clock::duration deadline = 1min) {
    process.emplace(
        loop, Program{.command = command}, deadline,
        [this](Subprocess::Result ended) { result = std::move(ended); }, [this] { overdue = true; });
  }
  bool ended() {
    return test::run_until(loop, [this] { return result.has_value(); });
  }
};

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

// Not there, or dead and waiting for its parent.
bool is_gone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.empty() || text.substr(text.rfind(')') + 2, 1) == "Z";
}

}  // namespace

TEST_CASE("a program's exit status and all of its output arrive") {
  Run run(shell("echo one; echo two >&2; exit 3"));
  CHECK_FALSE(run.result);
  REQUIRE(run.ended());
  CHECK(run.result->end == End::kExited);
  CHECK(run.result->number == 3);
  CHECK(run.result->output == "one\ntwo\n");
  CHECK_FALSE(run.overdue);
}

TEST_CASE("arguments arrive as they are") {
  Run run({"/bin/sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "", "$HOME;"});
  REQUIRE(run.ended());
  CHECK(run.result->output == "a b||$HOME;|");
}

TEST_CASE("a signal that ends a program is told") {
  Run run(shell("kill -TERM $$"));
  REQUIRE(run.ended());
  CHECK(run.result->end == End::kSignalled);
  CHECK(run.result->number == SIGTERM);
}

TEST_CASE("what cannot be started is told with its reason, later") {
  int reason = 0;
  std::string program;
  SUBCASE("no such program") {
    program = "/nonexistent/program";
    reason = ENOENT;
  }
  SUBCASE("no program at all") {
    program = "/etc/passwd";
    reason = EACCES;
  }
  Run run({program});
  CHECK_FALSE(run.result);
  REQUIRE(run.ended());
  CHECK(run.result->end == End::kNotStarted);
  CHECK(run.result->number == reason);
}

TEST_CASE("after the deadline the program and its children are killed") {
  Run run(shell("sleep 1000 & echo $!; wait"), 200ms);
  REQUIRE(run.ended());
  CHECK(run.overdue);
  CHECK(run.result->end == End::kSignalled);
  CHECK(run.result->number == SIGKILL);
  const pid_t child = std::stoi(run.result->output);
  CHECK(test::run_until(run.loop, [&] { return is_gone(child); }));
}

TEST_CASE("a program that leaves children behind has ended when it ends, and so have they") {
  Run run(shell("sleep 1000 & echo $!"));
  REQUIRE(run.ended());
  CHECK(run.result->end == End::kExited);
  const pid_t child = std::stoi(run.result->output);
  CHECK(test::run_until(run.loop, [&] { return is_gone(child); }));
}

TEST_CASE("a long output is cut, and does not hold the program up") {
  Run run(shell("head -c 1000000 /dev/zero; exit 7"));
  REQUIRE(run.ended());
  CHECK(run.result->output.size() == Program::kMostOutput);
  CHECK(run.result->number == 7);
}

TEST_CASE("a program that closes its output goes on") {
  Run run(shell("exec >&- 2>&-; read line; exit 5"));
  REQUIRE(run.ended());
  CHECK(run.result->number == 5);
}

TEST_CASE("a program inherits neither descriptors nor blocked or ignored signals") {
  const UniqueFd inheritable{::open("/dev/null", O_RDONLY)};
  sigset_t mask;
  sigset_t former;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &mask, &former);
  const auto former_handler = ::signal(SIGPIPE, SIG_IGN);
  Run run(shell("ls /proc/$$/fd; grep SigBlk /proc/self/status; kill -PIPE $$; echo survived"));
  REQUIRE(run.ended());
  ::signal(SIGPIPE, former_handler);
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  CHECK(run.result->output == "0\n1\n2\nSigBlk:\t0000000000000000\n");
  CHECK(run.result->number == SIGPIPE);
}

TEST_CASE("a program has none of our environment") {
  ::setenv("PLUGHOST_TEST", "1", 1);
  Run run({"/usr/bin/env"});
  REQUIRE(run.ended());
  ::unsetenv("PLUGHOST_TEST");
  CHECK(run.result->output ==
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLANG=C.UTF-8\n");
}

TEST_CASE("destroyed means killed, and nothing is called") {
  const test::TempDir dir;
  Run run(shell("echo $$ > " + dir.at("pid").string() + "; exec sleep 1000"));
  pid_t child = 0;
  CHECK(test::run_until(run.loop, [&] {
    std::ifstream file(dir.at("pid"));
    return static_cast<bool>(file >> child);
  }));
  run.process.reset();
  CHECK(::kill(child, 0) != 0);
  test::run_once(run.loop);
  CHECK_FALSE(run.result);
}

TEST_CASE("done may destroy it") {
  EventLoop loop;
  std::unique_ptr<Subprocess> process;
  bool destroyed = false;
  process = std::make_unique<Subprocess>(
      loop, Program{.command = shell("exit 0")}, 1min,
      [&](const Subprocess::Result&) {
        process.reset();
        destroyed = true;
      },
      [] {});
  CHECK(test::run_until(loop, [&] { return destroyed; }));
}

TEST_CASE("a program's lines are handed over one by one, and what comes after the last one is kept") {
  EventLoop loop;
  std::vector<std::string> lines;
  std::optional<Subprocess::Result> result;
  const Subprocess process(
      loop,
      Program{.command = shell("printf 'one\\n\\nth'; sleep 0.05; printf 'ree\\nhalf'"),
              .on_line = [&](std::string_view line) { lines.emplace_back(line); }},
      Subprocess::kForEver, [&](Subprocess::Result ended) { result = std::move(ended); }, [] {});
  REQUIRE(test::run_until(loop, [&] { return result.has_value(); }));
  CHECK(lines == std::vector<std::string>{"one", "", "three"});
  CHECK(result->output == "half");
  CHECK_FALSE(result->excess);
}

TEST_CASE("a line that is longer than what is kept is one too many, and no sum of lines is") {
  EventLoop loop;
  std::size_t lines = 0;
  std::optional<Subprocess::Result> result;
  const Subprocess process(
      loop,
      Program{.command =
                  shell("yes 0123456 | head -n 20000; head -c 200 /dev/zero | tr '\\0' a; exec sleep 1000"),
              .on_line = [&](std::string_view) { ++lines; },
              .most_output = 100,
              .excess = Program::Excess::kFatal},
      Subprocess::kForEver, [&](Subprocess::Result ended) { result = std::move(ended); }, [] {});
  REQUIRE(test::run_until(loop, [&] { return result.has_value(); }));
  CHECK(lines == 20000);
  CHECK(result->excess);
}

TEST_CASE("a program that is given more time is killed when that is over") {
  EventLoop loop;
  bool overdue = false;
  std::optional<Subprocess::Result> result;
  std::optional<Subprocess> process;
  const auto begun = EventLoop::Clock::now();
  process.emplace(
      loop,
      Program{.command = shell("echo; exec sleep 1000"),
              .on_line = [&](std::string_view) { process->extend(100ms); }},
      1h, [&](Subprocess::Result ended) { result = std::move(ended); }, [&] { overdue = true; });
  REQUIRE(test::run_until(loop, [&] { return result.has_value(); }));
  CHECK(overdue);
  CHECK(EventLoop::Clock::now() - begun >= 100ms);
}
