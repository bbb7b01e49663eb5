#include "base/text/network_address.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>

#include "base/system/acceptor.hpp"

using namespace plughost;

namespace {

std::uint16_t port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  check(::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size), "getsockname");
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

SocketAddress at(const std::string& host, std::uint16_t port) {
  return std::get<SocketAddress>(listen_address(host + ":" + std::to_string(port)));
}

void connect_to(std::uint16_t port) {
  const UniqueFd fd{check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")};
  const SocketAddress address = at("127.0.0.1", port);
  check(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size), "connect");
}

}  // namespace

TEST_CASE("an address to listen on is an IP address and a port") {
  for (const char* text : {"127.0.0.1:9464", "0.0.0.0:0", "[::1]:65535", "[::]:9464", "192.0.2.7:80"}) {
    CAPTURE(text);
    CHECK(std::holds_alternative<SocketAddress>(listen_address(text)));
  }
  for (const char* text : {"", ":", ":9464", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:x", "127.0.0.1:80 ", "127.1:80", "localhost:80", "::1:80", "[::1]",
                           "[::1]80", "[::1:80", "[127.0.0.1]:80", "[]:80", "[::1].evil:80"}) {
    CAPTURE(text);
    CHECK_FALSE(std::holds_alternative<SocketAddress>(listen_address(text)));
  }
}

TEST_CASE("an address is local if the kernel treats it so, however it is written") {
  for (const char* text :
       {"127.0.0.1:1", "127.255.255.254:1", "127.0.0.0:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"})
    CHECK_MESSAGE(std::get<SocketAddress>(listen_address(text)).loopback, text);
  for (const char* text :
       {"126.255.255.255:1", "128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::2]:1", "[fe80::1]:1"})
    CHECK_MESSAGE(!std::get<SocketAddress>(listen_address(text)).loopback, text);
}

TEST_CASE("a request's host is local if it is a local address, or localhost") {
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:9464", "127.200.0.7:1", "[::1]", "[::1]:9464", "localhost", "localhost:9464"})
    CHECK_MESSAGE(names_this_machine(host), host);
}

TEST_CASE(
    "a Host header with a foreign name is not loopback, even if the name begins with a loopback address") {
  for (const char* host : {"127.attacker.example",
                           "127.0.0.1.attacker.example",
                           "127.0.0.1.nip.io:9464",
                           "[::1].evil",
                           "[::1].evil:9464",
                           "[::1]evil",
                           "localhost.evil",
                           "localhost.evil:9464",
                           "evil",
                           "evil:9464",
                           "",
                           ":9464",
                           "126.0.0.1",
                           "128.0.0.1",
                           "0.0.0.0",
                           "[::]",
                           "[::2]",
                           "[127.0.0.1]",
                           "[localhost]",
                           "::1",
                           "127.1",
                           "127.0.0.1:evil",
                           "127.0.0.1:80.evil",
                           "localhost:",
                           "127.0.0.1:65536",
                           "[::1",
                           "2130706433",
                           "0x7f.0.0.1"})
    CHECK_MESSAGE(!names_this_machine(host), host);
}

TEST_CASE("the IPv6 wildcard address includes IPv4") {
  const UniqueFd fd = listen_tcp(at("[::]", 0), -1);
  CHECK_NOTHROW(connect_to(port_of(fd.get())));
}

TEST_CASE("listening fails on a port that a different process uses") {
  const UniqueFd first = listen_tcp(at("127.0.0.1", 0), -1);
  const std::uint16_t port = port_of(first.get());
  CHECK_THROWS_AS(listen_tcp(at("127.0.0.1", port), -1), std::system_error);
  CHECK_THROWS_AS(listen_tcp(at("0.0.0.0", port), -1), std::system_error);
}

TEST_CASE("a new socket can take over the port of the old one that it replaces, and no other socket can") {
  const UniqueFd first = listen_tcp(at("127.0.0.1", 0), -1);
  const std::uint16_t port = port_of(first.get());
  const UniqueFd second = listen_tcp(at("0.0.0.0", port), first.get());
  CHECK(port_of(second.get()) == port);
  for (const char* host : {"127.0.0.1", "127.0.0.2", "0.0.0.0"})
    CHECK_THROWS_AS(listen_tcp(at(host, port), -1), std::system_error);
}
