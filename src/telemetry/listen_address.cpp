#include "telemetry/listen_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>

#include "text/text.hpp"

namespace plughost {
namespace {

struct HostAndPort {
  std::string host;  // without brackets
  bool six = false;  // it was in brackets
  std::string_view port;
  bool has_port = false;
};

// nullopt: what follows the host is no port.
std::optional<HostAndPort> split(std::string_view text) {
  HostAndPort parts;
  parts.six = text.starts_with('[');
  const std::size_t end = parts.six ? text.find(']') : text.find(':');
  if (parts.six && end == std::string_view::npos) return std::nullopt;
  parts.host = parts.six ? text.substr(1, end - 1) : text.substr(0, end);
  const std::string_view rest = parts.six ? text.substr(end + 1) : text.substr(std::min(end, text.size()));
  if (rest.empty()) return parts;
  parts.has_port = true;
  parts.port = rest.substr(1);
  if (rest.front() != ':' || !number_in<std::uint16_t>(parts.port)) return std::nullopt;
  return parts;
}

std::optional<in_addr> ipv4(const HostAndPort& parts) {
  in_addr address{};
  if (parts.six || ::inet_pton(AF_INET, parts.host.c_str(), &address) != 1) return std::nullopt;
  return address;
}

std::optional<in6_addr> ipv6(const HostAndPort& parts) {
  in6_addr address{};
  if (!parts.six || ::inet_pton(AF_INET6, parts.host.c_str(), &address) != 1) return std::nullopt;
  return address;
}

bool is_loopback(const in_addr& address) { return ntohl(address.s_addr) >> 24u == 127; }

bool is_loopback(const in6_addr& address) { return IN6_IS_ADDR_LOOPBACK(&address) != 0; }

void set_option(int fd, int level, int option, int value, const char* what) {
  check(::setsockopt(fd, level, option, &value, sizeof value), what);
}

}  // namespace

std::optional<ListenAddress> listen_address(std::string_view text) {
  const std::optional<HostAndPort> parts = split(text);
  if (!parts || !parts->has_port) return std::nullopt;
  const in_port_t port = htons(*number_in<std::uint16_t>(parts->port));
  ListenAddress address;
  if (const auto four = ipv4(*parts)) {
    const sockaddr_in bytes{.sin_family = AF_INET, .sin_port = port, .sin_addr = *four, .sin_zero = {}};
    std::memcpy(&address.bytes, &bytes, address.size = sizeof bytes);
    address.loopback = is_loopback(*four);
    return address;
  }
  if (const auto six = ipv6(*parts)) {
    sockaddr_in6 bytes{};
    bytes.sin6_family = AF_INET6;
    bytes.sin6_port = port;
    bytes.sin6_addr = *six;
    std::memcpy(&address.bytes, &bytes, address.size = sizeof bytes);
    address.loopback = is_loopback(*six);
    return address;
  }
  return std::nullopt;
}

bool names_this_machine(std::string_view host) {
  const std::optional<HostAndPort> parts = split(host);
  if (!parts) return false;
  if (const auto four = ipv4(*parts)) return is_loopback(*four);
  if (const auto six = ipv6(*parts)) return is_loopback(*six);
  return !parts->six && parts->host == "localhost";
}

UniqueFd listen_tcp(const ListenAddress& address, int beside) {
  UniqueFd fd{
      check(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")};
  // Connections of a former process that are not forgotten yet do not keep the port.
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  // [::] is everybody, IPv4 included, whatever the machine's sysctl says.
  if (address.bytes.ss_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
  // Two sockets of one user may have one port while both say so. Only then: anybody else's is refused.
  if (beside >= 0) {
    for (const int each : {fd.get(), beside}) set_option(each, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
  }
  check(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size), "bind");
  check(::listen(fd.get(), SOMAXCONN), "listen");
  return fd;
}

}  // namespace plughost
