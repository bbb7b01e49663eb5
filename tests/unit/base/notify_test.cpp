#include "base/notify.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "unit/no_descriptors.hpp"
#include "unit/service_manager.hpp"

using namespace plughost;
using test::Variable;
using Manager = test::ServiceManager;

TEST_CASE("the manager hears what it is sent") {
  const Manager manager;
  const Variable variable("NOTIFY_SOCKET", manager.path);
  Notifier().send("READY=1\nSTATUS=3 resources");
  CHECK(manager.heard().text == "READY=1\nSTATUS=3 resources");
}

TEST_CASE("the watchdog is fed when no descriptor is left") {
  const Manager manager;
  const Variable variable("NOTIFY_SOCKET", manager.path);
  const Notifier notifier;
  const test::NoDescriptors none;
  notifier.send("WATCHDOG=1");
  notifier.send("WATCHDOG=1");
  CHECK(manager.heard().text == "WATCHDOG=1");
  CHECK(manager.heard().text == "WATCHDOG=1");
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
