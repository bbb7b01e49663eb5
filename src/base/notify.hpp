#pragma once
// systemd's readiness protocol (sd_notify(3)).

#include <sys/socket.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

struct sockaddr_un;

namespace plughost {

// Thread-safe. Does nothing where no manager listens (NOTIFY_SOCKET is not set).
class Notifier {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  Notifier();

  // Lines such as "READY=1\nSTATUS=3 resources". A manager that does not listen any more is no error.
  void send(std::string_view lines) const;
  // The descriptor as well. False: the manager has not got it.
  bool send(std::string_view lines, int fd) const;
  // How often the manager wants to hear WATCHDOG=1, with a margin of two; nullopt: it does not ask.
  std::optional<std::chrono::milliseconds> watchdog_interval() const { return watchdog_; }

 private:
  socklen_t manager(sockaddr_un& address) const;

  std::string socket_;
  // From the start: when no descriptor is left, the watchdog is still to be fed.
  UniqueFd from_;
  std::optional<std::chrono::milliseconds> watchdog_;
};

// "RELOADING=1" with the time stamp that Type=notify-reload asks for.
std::string reloading_message();

}  // namespace plughost
