#include "base/system/systemd.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/system/unique_fd.hpp"
#include "unit/no_descriptors.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

// Sets an environment variable, and clears it at the end, because the environment belongs to the process.
struct Variable {
  Variable(const char* its_name, const std::string& value) : name(its_name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

// The service manager's end of the notification socket.
struct Manager {
  Manager() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    check(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  }
  // Returns the oldest message, or an empty text if there is none.
  std::string heard() const {
    std::array<char, 256> text{};
    const ssize_t length = ::recv(socket.get(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  }

  const test::TempDir dir;
  const std::string path = dir.path() / "notify";
  const UniqueFd socket{check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket")};
};

}  // namespace

TEST_CASE("the service manager receives each message") {
  const Manager manager;
  const Variable variable("NOTIFY_SOCKET", manager.path);
  Notifier().send("READY=1\nSTATUS=3 resources");
  CHECK(manager.heard() == "READY=1\nSTATUS=3 resources");
}

TEST_CASE("watchdog messages are sent also if the process has no free descriptor") {
  const Manager manager;
  const Variable variable("NOTIFY_SOCKET", manager.path);
  const Notifier notifier;
  const test::NoDescriptors none;
  notifier.send("WATCHDOG=1");
  notifier.send("WATCHDOG=1");
  CHECK(manager.heard() == "WATCHDOG=1");
  CHECK(manager.heard() == "WATCHDOG=1");
}

TEST_CASE(
    "the watchdog interval is half of WATCHDOG_USEC, and absent if WATCHDOG_PID is a different process") {
  const Variable period("WATCHDOG_USEC", "30000000");
  {
    const Variable pid("WATCHDOG_PID", std::to_string(::getpid()));
    CHECK(Notifier().watchdog_interval() == std::chrono::milliseconds(15000));
  }
  const Variable pid("WATCHDOG_PID", "1");
  CHECK(Notifier().watchdog_interval() == std::nullopt);
}

TEST_CASE("without a service manager send() does nothing, and there is no watchdog interval") {
  ::unsetenv("NOTIFY_SOCKET");
  CHECK_NOTHROW(Notifier().send("READY=1"));
  CHECK(Notifier().watchdog_interval() == std::nullopt);
}

TEST_CASE("a reload is reported with the time stamp that notify-reload needs") {
  CHECK(reloading_message().starts_with("RELOADING=1\nMONOTONIC_USEC="));
}
