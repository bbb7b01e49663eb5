#include "base/text/network_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/text/text.hpp"

namespace plughost {

HostAndPort host_and_port(std::string_view text) {
  HostAndPort parts{.brackets = text.starts_with('[')};
  const std::size_t from = parts.brackets ? 1 : 0;
  const std::size_t end = std::min(text.find(parts.brackets ? ']' : ':'), text.size());
  parts.host = text.substr(from, end - from);
  const std::string_view rest = text.substr(std::min(end + from, text.size()));
  if (rest.starts_with(':')) parts.port = number_in<std::uint16_t>(rest.substr(1));
  parts.whole = (rest.empty() && (!parts.brackets || text.ends_with(']'))) || parts.port;
  return parts;
}

std::optional<SocketAddress> ip_address(const HostAndPort& parts) {
  SocketAddress address;
  const in_port_t port = htons(parts.port.value_or(0));
  sockaddr_in four{.sin_family = AF_INET, .sin_port = port, .sin_addr = {}, .sin_zero = {}};
  sockaddr_in6 six{};
  if (!parts.brackets && ::inet_pton(AF_INET, parts.host.c_str(), &four.sin_addr) == 1) {
    std::memcpy(&address.bytes, &four, address.size = sizeof four);
    address.loopback = ntohl(four.sin_addr.s_addr) >> 24u == 127;
  } else if (parts.brackets && ::inet_pton(AF_INET6, parts.host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = port;
    std::memcpy(&address.bytes, &six, address.size = sizeof six);
    address.loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0;
  } else {
    return std::nullopt;
  }
  return address;
}

std::variant<SocketAddress, std::string> listen_address(std::string_view text) {
  const HostAndPort parts = host_and_port(text);
  const std::optional<SocketAddress> address = ip_address(parts);
  if (!address) return "begin it with an IP address: 127.0.0.1 for this machine alone, 0.0.0.0 for all";
  if (!parts.port) return "end it with a port: :9464";
  return *address;
}

bool names_this_machine(std::string_view host) {
  const HostAndPort parts = host_and_port(host);
  if (!parts.whole) return false;
  if (const auto address = ip_address(parts)) return address->loopback;
  return !parts.brackets && parts.host == "localhost";
}

}  // namespace plughost
