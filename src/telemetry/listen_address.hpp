#pragma once
// The address of `listen`, and the hosts that requests name. Values, and one call that opens a socket of
// them; thread-safe.

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace plughost {

struct ListenAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  bool loopback = false;  // takes connections of this machine only
};

// "127.0.0.1:9464", "[::1]:9464"; nullopt: it is none.
std::optional<ListenAddress> listen_address(std::string_view text);

// Is the host of a Host header, with or without its port, this machine, whatever a name server says?
bool names_this_machine(std::string_view host);

// Non-blocking and close-on-exec. beside: a socket of ours that listens, or -1; it may have the same port, as
// 127.0.0.1:9464 and 0.0.0.0:9464 have. Throws std::system_error.
UniqueFd listen_tcp(const ListenAddress& address, int beside);

}  // namespace plughost
