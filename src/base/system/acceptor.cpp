#include "base/system/acceptor.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace plughost {
namespace {

// No file descriptor is left: the connection waits in the backlog, and an immediate retry would fail again.
constexpr std::chrono::milliseconds kNoDescriptors{100};

void set_option(int fd, int level, int option, int value, const char* what) {
  check(::setsockopt(fd, level, option, &value, sizeof value), what);
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, UniqueFd socket, Accept accept, Error error)
    : accept_(std::move(accept)),
      error_(std::move(error)),
      socket_(std::move(socket)),
      // Edge-triggered: a backlog that cannot be accepted now must not make the loop spin.
      watch_(loop, socket_.get(), EPOLLIN | EPOLLET, [this](std::uint32_t) { on_readable(); }),
      retry_(loop, [this] { on_readable(); }) {}

void Acceptor::on_readable() {
  for (;;) {
    UniqueFd connection{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!connection) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      retry_.arm(kNoDescriptors);
      if (!std::exchange(failing_, true))
        error_(std::string("connections cannot be accepted, and wait: ") + std::strerror(errno));
      return;
    }
    failing_ = false;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
      accept_(std::move(connection), peer);
  }
}

UniqueFd listen_tcp(const SocketAddress& address, int beside) {
  UniqueFd fd{
      check(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")};
  // Connections of a former process, which the kernel still remembers, must not keep the port.
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
  // [::] accepts IPv4 as well, regardless of the machine's sysctl.
  if (address.bytes.ss_family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
  // Two sockets of one user can share a port if both set SO_REUSEPORT. It is set only together with `beside`,
  // so that other programs cannot share the port.
  if (beside >= 0) {
    for (const int each : {fd.get(), beside}) set_option(each, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT");
  }
  check(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size), "bind");
  check(::listen(fd.get(), SOMAXCONN), "listen");
  return fd;
}

}  // namespace plughost
