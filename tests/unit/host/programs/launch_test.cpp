#include "host/programs/launch.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

using namespace plughost;

TEST_CASE("a launch that is given up before its process exists does not run the program") {
  // Writing this input takes milliseconds. During these the launch has begun, but the process does not exist.
  const std::string long_input(32u << 20, 'x');
  for (bool in_time = false; !in_time;) {
    Launch launch(Program{.command = {"/bin/sleep", "1000"}, .input = long_input});
    std::thread starts([&] { launch.run(); });
    while (!launch.begun()) std::this_thread::yield();
    launch.give_up();
    in_time = !launch.has_child();
    starts.join();
    const Child child = launch.take();
    REQUIRE(child.pid != 0);
    if (!in_time) ::kill(child.pid, SIGKILL);
    pollfd ended{child.process.get(), POLLIN, 0};
    CHECK(::poll(&ended, 1, 10'000) == 1);
    ::kill(child.pid, SIGKILL);
    REQUIRE(::waitpid(child.pid, nullptr, 0) == child.pid);
  }
}
