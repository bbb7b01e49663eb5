#pragma once
// All of a text into a file. Thread-safe.

#include <unistd.h>

#include <string_view>

#include "base/unique_fd.hpp"

namespace plughost {

// Throws std::system_error; some of it may be written then.
inline void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_errno("write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace plughost
