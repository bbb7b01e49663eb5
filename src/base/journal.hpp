#pragma once
// The journal's native protocol: a line with fields that journalctl can select by.
// https://systemd.io/JOURNAL_NATIVE_PROTOCOL/

#include <filesystem>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace plughost {

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
