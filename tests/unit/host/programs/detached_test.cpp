#include "host/programs/detached.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "places.hpp"
#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// Runs the script to its end, which is seen by the pidfd.
void run(const std::string& script, const std::vector<std::string>& left_out = {}) {
  const DetachedProgram program = start_detached({"/bin/sh", "-c", script}, left_out);
  CHECK(program.pid > 0);
  pollfd ends{.fd = program.process.get(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&ends, 1, 10'000) == 1);
}

}  // namespace

TEST_CASE("a detached program is a child of another process than the one that has started it") {
  const TempDir tree;
  run("sed -n 's/^PPid:\\t//p' /proc/$$/status > " + tree.at("parent").string());
  CHECK(std::stoi(content(tree.at("parent"))) != ::getpid());
}

TEST_CASE("a detached program has this process's variables, except those that are left out") {
  const TempDir tree;
  ::setenv("PLUGHOST_KEPT", "here", 1);
  ::setenv("PLUGHOST_LEFT", "not here", 1);
  run("echo $PLUGHOST_KEPT-$PLUGHOST_LEFT > " + tree.at("variables").string(), {"PLUGHOST_LEFT"});
  ::unsetenv("PLUGHOST_KEPT");
  ::unsetenv("PLUGHOST_LEFT");
  CHECK(content(tree.at("variables")) == "here-\n");
}

TEST_CASE("a detached program has the standard files alone, and no blocked or ignored signal") {
  const TempDir tree;
  sigset_t term;
  sigset_t former;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &former);
  const int low = ::dup(STDERR_FILENO);
  const int high = ::fcntl(STDERR_FILENO, F_DUPFD, 700);
  const auto open = [](int fd) { return "test -e /proc/$$/fd/" + std::to_string(fd); };
  // Without another program: the shell blocks signals while it starts one.
  run("{ " + open(low) + " || " + open(high) +
      "; } && exit; while read -r line; do case $line in Sig[BI]*) echo \"$line\";; esac; done "
      "< /proc/$$/status > " +
      tree.at("signals").string());
  ::close(low);
  ::close(high);
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  CHECK(content(tree.at("signals")) == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("a detached program that cannot be started is an error") {
  CHECK_THROWS_WITH(start_detached({"/nonexistent/x"}, {}),
                    "cannot start /nonexistent/x: No such file or directory");
  const TempDir tree;
  tree.file("data", "no program");
  CHECK_THROWS_AS(start_detached({tree.at("data").string()}, {}), std::system_error);
}

TEST_CASE("the command of this process begins with a path") {
  const std::vector<std::string> command = own_command();
  CHECK(command.at(0).find('/') != std::string::npos);
  CHECK(::access(command.at(0).c_str(), X_OK) == 0);
}
