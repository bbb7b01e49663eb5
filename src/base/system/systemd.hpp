#pragma once
// Messages to systemd: to the service manager and to the journal.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/unique_fd.hpp"

namespace plughost {

// The readiness protocol (sd_notify(3)). Does nothing if NOTIFY_SOCKET is not set. Thread-safe.
class Notifier {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  Notifier();

  // Sends lines such as "READY=1" and "STATUS=3 resources", separated by newlines. Errors are ignored.
  void send(std::string_view lines) const;
  // Returns half the interval in which the service manager expects WATCHDOG=1; nullopt without a watchdog.
  std::optional<std::chrono::milliseconds> watchdog_interval() const { return watchdog_; }

 private:
  std::string socket_;
  // Opened at the start, so that the watchdog can be notified when no file descriptors are left.
  UniqueFd from_;
  std::optional<std::chrono::milliseconds> watchdog_;
};

// Returns "RELOADING=1" with the timestamp that Type=notify-reload requires.
std::string reloading_message();

// The journal's native protocol: a log line with fields by which journalctl can select.
// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
inline constexpr const char* kJournalSocket = "/run/systemd/journal/socket";

// Thread-safe.
class Journal {
 public:
  // The socket stays unconnected, because the journal may be restarted at any time.
  explicit Journal(std::filesystem::path socket = kJournalSocket);

  // Returns one field of a datagram. name: A-Z, 0-9 and _. value: any bytes.
  static std::string field(std::string_view name, std::string_view value);

  // Waits until the journal has room. Returns false if the journal does not accept the datagram.
  bool send(std::string_view datagram) const;

 private:
  std::filesystem::path path_;
  UniqueFd socket_;
};

// Returns true if standard error is a stream to the journal: its device and inode are those of
// JOURNAL_STREAM, as systemd.exec(5) describes.
bool stderr_is_journal();

}  // namespace plughost
