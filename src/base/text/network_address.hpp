#pragma once
// Hosts with ports, as settings, URLs and Host headers have them. Plain values and pure functions,
// thread-safe.

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace plughost {

// "localhost", "127.0.0.1:9464", "[::1]:9464"
struct HostAndPort {
  std::string host;  // without brackets
  bool brackets = false;
  std::optional<std::uint16_t> port;
  bool whole = true;  // false: the text goes on after its host, and not with a port
};
HostAndPort host_and_port(std::string_view text);

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  bool loopback = false;  // takes connections of this machine only
};
// Returns the address of an IP literal, with port 0 if it has none; nullopt: the host is a name.
std::optional<SocketAddress> ip_address(const HostAndPort& parts);

// "127.0.0.1:9464", "[::1]:9464"; or why no socket can listen there, as a sentence.
std::variant<SocketAddress, std::string> listen_address(std::string_view text);

// Returns true if the host, with or without a port, is this machine, whatever a name server says.
bool names_this_machine(std::string_view host);

}  // namespace plughost
