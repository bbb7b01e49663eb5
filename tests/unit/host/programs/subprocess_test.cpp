#include "host/programs/subprocess.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "unit/is_gone.hpp"
#include "unit/no_descriptors.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"
#include "unit/trapping.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using How = Ending::How;

namespace {

struct Run {
  EventLoop loop;
  Programs programs{loop};
  ProgramQueue queue{programs, Purpose::kList};
  std::optional<Ending> result;
  bool gone = false;  // the process has ended after its timeout
  std::optional<Subprocess> process;

  explicit Run(Program program) {
    process.emplace(
        queue, std::move(program),
        [this](Ending ending) {
          CHECK_FALSE(gone);
          result = std::move(ending);
        },
        [this] { gone = true; });
  }
  explicit Run(const std::vector<std::string>& command, std::chrono::milliseconds timeout = 1min)
      : Run(Program{.command = command, .timeout = timeout}) {}
  bool ended() {
    return test::run_until(loop, [this] { return result.has_value(); });
  }
};

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

// Returns the child processes of all threads of this process, including zombies.
std::set<pid_t> children() {
  std::set<pid_t> children;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "children");
    children.insert(std::istream_iterator<pid_t>(file), {});
  }
  return children;
}

}  // namespace

TEST_CASE("a program's exit status and all of its output are reported") {
  Run run(shell("echo one; echo two >&2; exit 3"));
  CHECK_FALSE(run.result);
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kExited);
  CHECK(run.result->number == 3);
  CHECK(run.result->output == "one\ntwo\n");
  CHECK_FALSE(run.gone);
}

TEST_CASE("arguments are passed unchanged") {
  Run run({"/bin/sh", "-c", "printf '%s|' \"$@\"", "sh", "a b", "", "$HOME;"});
  REQUIRE(run.ended());
  CHECK(run.result->output == "a b||$HOME;|");
}

TEST_CASE("a signal that ends a program is reported") {
  Run run(shell("kill -TERM $$"));
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kSignalled);
  CHECK(run.result->number == SIGTERM);
}

TEST_CASE(
    "a program that cannot be started is reported with the reason, and not from within the constructor") {
  int reason = 0;
  std::string program;
  SUBCASE("that does not exist") {
    program = "/nonexistent/program";
    reason = ENOENT;
  }
  SUBCASE("that is not executable") {
    program = "/etc/passwd";
    reason = EACCES;
  }
  Run run({program});
  CHECK_FALSE(run.result);
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kNotStarted);
  CHECK(run.result->number == reason);
}

TEST_CASE("after its time-out the program and its children are killed, and its end is reported") {
  Run run(shell("sleep 1000 & echo $!; wait"), 200ms);
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kOverdue);
  CHECK(run.result->timeout == 200ms);
  const pid_t child = std::stoi(run.result->output);
  CHECK(test::run_until(run.loop, [&] { return run.gone && test::is_gone(child); }));
}

TEST_CASE(
    "a program whose timeout passes before the loop knows of its start is killed, and its end is reported") {
  const test::TempDir dir;
  Run run(
      Program{.command = shell("echo > " + dir.at("began").string() + "; exec sleep 1000"), .timeout = 20ms});
  // The program starts and times out while the loop cannot handle either event.
  bool kept = false;
  Timer after_its_turn(run.loop, [&] {
    run.loop.poster()([&] {
      const auto end = EventLoop::Clock::now() + 30s;
      while (!std::filesystem::exists(dir.at("began")) && EventLoop::Clock::now() < end)
        std::this_thread::yield();
      const auto overdue = EventLoop::Clock::now() + 100ms;
      while (EventLoop::Clock::now() < overdue) std::this_thread::yield();
      kept = true;
    });
  });
  after_its_turn.arm(0ms);
  REQUIRE(run.ended());
  CHECK(kept);
  CHECK(run.result->how == How::kOverdue);
  CHECK(test::run_until(run.loop, [&] { return run.gone; }));
}

TEST_CASE("after its time-out a program may clean up, and its caller has the result before that") {
  const test::TempDir dir;
  Run run(shell("cd " + dir.path().string() + "; " +
                test::trapping("while [ ! -e answered ]; do sleep 0.01; done; echo bye; : > cleared")),
          300ms);
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kOverdue);
  const auto answered = EventLoop::Clock::now();
  dir.file("answered");
  REQUIRE(test::run_until(run.loop, [&] { return run.gone; }));
  CHECK(std::filesystem::exists(dir.at("cleared")));
  CHECK(EventLoop::Clock::now() - answered < Programs::kGrace);
}

TEST_CASE("a program that does not end after its time-out is killed after its grace period") {
  Run run(shell("trap '' TERM; (while :; do sleep 0.05; done) & echo $!; while :; do sleep 0.05; done"),
          200ms);
  REQUIRE(run.ended());
  CHECK_FALSE(run.gone);
  const auto answered = EventLoop::Clock::now();
  const pid_t child = std::stoi(run.result->output);
  CHECK_FALSE(test::is_gone(child));
  REQUIRE(test::run_until(run.loop, [&] { return run.gone; }));
  CHECK(EventLoop::Clock::now() - answered >= Programs::kGrace - 50ms);
  CHECK(EventLoop::Clock::now() - answered < 3 * Programs::kGrace);
  CHECK(test::run_until(run.loop, [&] { return test::is_gone(child); }));
}

TEST_CASE("after a timeout a child in the program's process group may clean up, too") {
  const test::TempDir dir;
  Run run(shell("cd " + dir.path().string() + "; (" + test::trapping(": > cleared") + ") & wait"), 300ms);
  REQUIRE(run.ended());
  REQUIRE(test::run_until(run.loop, [&] { return run.gone; }));
  CHECK(std::filesystem::exists(dir.at("cleared")));
}

TEST_CASE("a program's end is reported although its children still run, and these are killed") {
  Run run(shell("sleep 1000 & echo $!"));
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kExited);
  const pid_t child = std::stoi(run.result->output);
  CHECK(test::run_until(run.loop, [&] { return test::is_gone(child); }));
}

TEST_CASE("a long output is cut, and does not block the program") {
  Run run(shell("head -c 1000000 /dev/zero; exit 7"));
  REQUIRE(run.ended());
  CHECK(run.result->output.size() == Program::kMostOutput);
  CHECK(run.result->number == 7);
}

TEST_CASE("a program that closes its output continues") {
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

TEST_CASE("a program does not inherit the environment") {
  ::setenv("PLUGHOST_TEST", "1", 1);
  Run run({"/usr/bin/env"});
  REQUIRE(run.ended());
  ::unsetenv("PLUGHOST_TEST");
  CHECK(run.result->output ==
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLANG=C.UTF-8\n");
}

TEST_CASE("the destructor of Subprocess kills and reaps the program, and calls no callback") {
  const test::TempDir dir;
  Run run(shell("echo $$ > " + dir.at("pid").string() + "; exec sleep 1000"));
  pid_t child = 0;
  CHECK(test::run_until(run.loop, [&] {
    std::ifstream file(dir.at("pid"));
    return static_cast<bool>(file >> child);
  }));
  run.process.reset();
  CHECK(test::run_until(run.loop, [&] { return ::kill(child, 0) != 0; }));
  CHECK_FALSE(run.result);
  CHECK_FALSE(run.gone);
}

TEST_CASE("after the destructor of Subprocess a program may clean up, and no callback is called") {
  const test::TempDir dir;
  Run run(shell("cd " + dir.path().string() + "; " +
                test::trapping("echo bye; echo bye >&2; : > cleared", ": > ready")));
  REQUIRE(test::run_until(run.loop, [&] { return std::filesystem::exists(dir.at("ready")); }));
  run.process.reset();
  CHECK(test::run_until(run.loop, [&] { return std::filesystem::exists(dir.at("cleared")); }));
  CHECK_FALSE(run.result);
}

TEST_CASE("a program whose Subprocess is destroyed before its turn never runs") {
  const test::TempDir dir;
  Run run(shell("touch " + dir.at("begun").string()));
  CHECK_FALSE(run.process->begun());
  run.process.reset();
  Run other(shell("exit 0"));
  REQUIRE(other.ended());
  test::run_once(run.loop);
  CHECK_FALSE(std::filesystem::exists(dir.at("begun")));
}

TEST_CASE("a program whose Subprocess is destroyed during the start is killed") {
  const std::set<pid_t> before = children();  // from earlier test cases
  {
    Run run(shell("exec sleep 1000"));
    REQUIRE(test::run_until(run.loop, [&] { return run.process->begun(); }));
    run.process.reset();
    // The loop kills the process if the start has finished, otherwise the starting thread does. The next
    // program's start and end give both enough time.
    bool later = false;
    run.process.emplace(run.queue, Program{.command = shell("exit 0")}, [&](const Ending&) { later = true; });
    REQUIRE(test::run_until(run.loop, [&] { return later; }));
  }
  CHECK(std::ranges::includes(before, children()));
}

TEST_CASE("what a program writes to standard error before a line is known when the line is reported") {
  const test::TempDir dir;
  std::string line;
  std::string errors;
  std::optional<Run> run;
  Program program{
      .command = shell("cd " + dir.path().string() +
                       "; echo one; while [ ! -e go ]; do sleep 0.01; done; echo why >&2; echo two; "
                       ": > both; exec sleep 1000"),
      .errors = Program::Errors::kApart};
  program.on_line = [&](std::string_view said) {
    line = said;
    errors = run->process->errors();
    run->loop.stop();  // the kernel still has the output ready, before the errors
  };
  run.emplace(std::move(program));
  run->loop.run();
  REQUIRE(line == "one");
  dir.file("go");
  while (!std::filesystem::exists(dir.at("both")))
    std::this_thread::yield();  // so that the loop receives the errors and the line at the same time
  run->loop.run();
  CHECK(line == "two");
  CHECK(errors == "why\n");
}

TEST_CASE("the callback may destroy the Subprocess") {
  Run run(shell("exit 0"));
  bool destroyed = false;
  run.process.emplace(run.queue, Program{.command = shell("exit 0")}, [&](const Ending&) {
    run.process.reset();
    destroyed = true;
  });
  CHECK(test::run_until(run.loop, [&] { return destroyed; }));
}

TEST_CASE("lines are reported one by one, and the rest after the last one is kept") {
  std::vector<std::string> lines;
  Run run(Program{.command = shell("printf 'one\\n\\nth'; sleep 0.05; printf 'ree\\nhalf'"),
                  .on_line = [&](std::string_view line) { lines.emplace_back(line); }});
  REQUIRE(run.ended());
  CHECK(lines == std::vector<std::string>{"one", "", "three"});
  CHECK(run.result->output == "half");
  CHECK_FALSE(run.result->excess);
}

TEST_CASE("a line that is too long is an error, and many lines of any total length are not") {
  std::size_t lines = 0;
  Run run(Program{.command = shell("yes 0123456 | head -n 20000; head -c 200 /dev/zero | tr '\\0' a; "
                                   "exec sleep 1000"),
                  .on_line = [&](std::string_view) { ++lines; },
                  .most_output = 100,
                  .excess = Program::Excess::kFatal});
  REQUIRE(run.ended());
  CHECK(lines == 20000);
  CHECK(run.result->excess);
}

TEST_CASE("a program that is ended for too much output may clean up, and its end is reported after that") {
  const test::TempDir dir;
  Run run(Program{
      .command = shell("cd " + dir.path().string() + "; " + test::trapping(": > cleared", "echo 0123456789")),
      .most_output = 5,
      .excess = Program::Excess::kFatal});
  REQUIRE(run.ended());
  CHECK(run.result->excess);
  CHECK(run.result->output == "01234");
  CHECK(run.result->how == How::kSignalled);
  CHECK(std::filesystem::exists(dir.at("cleared")));
}

TEST_CASE("after extend() a program is killed at the new deadline") {
  std::optional<Subprocess>* process = nullptr;
  const auto begun = EventLoop::Clock::now();
  Run run(Program{.command = shell("echo; exec sleep 1000"), .timeout = 1h, .on_line = [&](std::string_view) {
                    (*process)->extend(100ms);
                  }});
  process = &run.process;
  REQUIRE(run.ended());
  CHECK(run.result->how == How::kOverdue);
  CHECK(run.result->timeout == 100ms);
  CHECK(EventLoop::Clock::now() - begun >= 100ms);
}

TEST_CASE("a program reads all of its input, and then the end") {
  const std::string text(200'000, 'x');
  Run run(Program{.command = {"/usr/bin/wc", "-c"}, .input = text});
  REQUIRE(run.ended());
  CHECK(run.result->output == "200000\n");
}

TEST_CASE("a program's soft limit of descriptors is 1,024, whatever plughost's own limit is") {
  rlimit former{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &former) == 0);
  rlimit raised = former;
  raised.rlim_cur = std::min<rlim_t>(former.rlim_max, 5000);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &raised) == 0);
  Run run(shell("ulimit -S -n; ulimit -H -n"));
  REQUIRE(run.ended());
  ::setrlimit(RLIMIT_NOFILE, &former);
  const std::string hard = former.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(former.rlim_max);
  CHECK(run.result->output == "1024\n" + hard + "\n");
}

TEST_CASE("if SIGCHLD is ignored, a program's end is reported without its exit status") {
  const auto former = ::signal(SIGCHLD, SIG_IGN);
  Run run(shell("exit 0"));
  REQUIRE(run.ended());
  ::signal(SIGCHLD, former);
  CHECK(run.result->how == How::kUntold);
}

TEST_CASE("a timeout counted from now includes the time that the program waits for its turn") {
  Run run(shell("exit 0"));
  ProgramQueue line(run.programs, Purpose::kList, 1);
  const Subprocess first(line, Program{.command = shell("exec sleep 1000")}, [](const Ending&) {});
  Program program{.command = shell("exit 0"), .timeout = 200ms};
  const auto outcome_of = [&](Program::TimeoutFrom from) {
    program.timeout_from = from;
    std::optional<Ending> ended;
    bool gone = false;
    const Subprocess waits(
        line, program, [&](Ending ending) { ended = std::move(ending); }, [&] { gone = true; });
    test::run_until(
        run.loop, [&] { return ended.has_value(); }, 600ms);
    CHECK_FALSE(waits.begun() != ended.has_value());
    CHECK_FALSE(gone);
    return ended;
  };
  CHECK_FALSE(outcome_of(Program::TimeoutFrom::kBegin));
  const auto ended = outcome_of(Program::TimeoutFrom::kNow);
  REQUIRE(ended);
  CHECK(ended->how == How::kOverdue);
}

TEST_CASE(
    "if plughost has no free descriptor, the start fails with kNoMeans, which is no error of the program") {
  Run run(shell("exit 0"));
  REQUIRE(run.ended());  // by now the threads have started
  run.result.reset();
  run.process.emplace(run.queue, Program{.command = shell("exit 0")},
                      [&](Ending ending) { run.result = std::move(ending); });
  {
    const test::NoDescriptors none;
    REQUIRE(run.ended());
  }
  CHECK(run.result->how == How::kNoMeans);
  CHECK(run.result->number == EMFILE);
}
