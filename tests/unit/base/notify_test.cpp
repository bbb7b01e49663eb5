#include "base/notify.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

// The variables are the process's: each test sets and clears them.
struct Variable {
  Variable(const char* its_name, const std::string& value) : name(its_name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

}  // namespace

TEST_CASE("the manager hears what it is sent") {
  const test::TempDir dir;
  const std::string path = dir.path() / "notify";
  const UniqueFd manager{check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket")};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  check(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");

  const Variable variable("NOTIFY_SOCKET", path);
  Notifier().send("READY=1\nSTATUS=3 resources");
  std::array<char, 256> heard{};
  const ssize_t length = ::recv(manager.get(), heard.data(), heard.size(), 0);
  CHECK(std::string_view(heard.data(), static_cast<std::size_t>(length)) == "READY=1\nSTATUS=3 resources");
}

TEST_CASE("the watchdog is fed twice as often as the manager asks, and only for this process") {
  const Variable period("WATCHDOG_USEC", "30000000");
  {
    const Variable pid("WATCHDOG_PID", std::to_string(::getpid()));
    CHECK(Notifier().watchdog_interval() == std::chrono::milliseconds(15000));
  }
  const Variable pid("WATCHDOG_PID", "1");
  CHECK(Notifier().watchdog_interval() == std::nullopt);
}

TEST_CASE("without a manager nothing is sent and nothing fails") {
  ::unsetenv("NOTIFY_SOCKET");
  CHECK_NOTHROW(Notifier().send("READY=1"));
  CHECK(Notifier().watchdog_interval() == std::nullopt);
}

TEST_CASE("a reload is told with the time stamp that notify-reload asks for") {
  CHECK(reloading_message().starts_with("RELOADING=1\nMONOTONIC_USEC="));
}
