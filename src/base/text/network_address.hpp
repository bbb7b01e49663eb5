#pragma once
// Hosts with ports, as they occur in settings, URLs and Host headers. Plain values and pure functions,
// thread-safe.

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace plughost {

// The parts of a text such as "localhost", "127.0.0.1:9464" or "[::1]:9464".
struct HostAndPort {
  std::string host;  // without brackets
  bool brackets = false;
  std::optional<std::uint16_t> port;
  bool whole = true;  // false: something other than a port follows the host
};
HostAndPort host_and_port(std::string_view text);

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  bool loopback = false;  // only processes of this machine can connect
};
// Returns the address of an IP literal, with port 0 if it has none. Returns nullopt if the host is a name.
std::optional<SocketAddress> ip_address(const HostAndPort& parts);

// Parses "127.0.0.1:9464" or "[::1]:9464". For any other text, returns how to correct the text.
std::variant<SocketAddress, std::string> listen_address(std::string_view text);

// Returns true if the host (with or without a port) means this machine, whatever name servers answer.
bool names_this_machine(std::string_view host);

}  // namespace plughost
