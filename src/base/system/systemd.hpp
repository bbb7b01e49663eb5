#pragma once
// What systemd hears of us: the service manager's socket, and the journal's.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/unique_fd.hpp"

namespace plughost {

// systemd's readiness protocol (sd_notify(3)).

// Thread-safe. Does nothing where no manager listens (NOTIFY_SOCKET is not set).
class Notifier {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  Notifier();

  // Lines such as "READY=1\nSTATUS=3 resources". A manager that does not listen any more is no error.
  void send(std::string_view lines) const;
  // How often the manager wants to hear WATCHDOG=1, with a margin of two; nullopt: it does not ask.
  std::optional<std::chrono::milliseconds> watchdog_interval() const { return watchdog_; }

 private:
  std::string socket_;
  // From the start: when no descriptor is left, the watchdog is still to be fed.
  UniqueFd from_;
  std::optional<std::chrono::milliseconds> watchdog_;
};

// "RELOADING=1" with the time stamp that Type=notify-reload asks for.
std::string reloading_message();

// The journal's native protocol: a line with fields that journalctl can select by.
// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
inline constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

// Thread-safe.
class Journal {
 public:
  // Nothing is connected: the journal may be started anew at any time.
  explicit Journal(std::filesystem::path socket = kJournalSocket);

  // A part of a datagram. name is of A-Z, 0-9 and _, value of any bytes.
  static std::string field(std::string_view name, std::string_view value);

  // Waits until the journal has room for it. False: it does not take it, and the caller writes it elsewhere.
  bool send(std::string_view datagram) const;

 private:
  std::filesystem::path path_;
  UniqueFd socket_;
};

// Is standard error a stream to the journal? Its device and inode are what JOURNAL_STREAM says, as
// systemd.exec(5) tells to look.
bool stderr_is_journal();

}  // namespace plughost
