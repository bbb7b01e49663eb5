#pragma once
// Unix stream sockets by path. Thread-safe.

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <filesystem>

#include "base/unique_fd.hpp"

namespace plughost {

// Non-blocking and close-on-exec. Throws std::system_error: ENAMETOOLONG for a path over 107 bytes, before
// anything is tried.
UniqueFd connect_unix(const std::filesystem::path& path);
// Likewise, and listening; the file's mode is 0600 from the first moment.
UniqueFd listen_unix(const std::filesystem::path& path);
// The process at the other end of a connection that connect_unix made; 0: not to be seen from here. Throws
// std::system_error.
pid_t peer_process(int connection);
// The process that listens on the socket; 0: not to be seen from here. Throws as connect_unix does:
// ECONNREFUSED if nobody listens.
pid_t listening_process(const std::filesystem::path& path);

}  // namespace plughost
