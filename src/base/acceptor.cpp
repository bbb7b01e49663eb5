#include "base/acceptor.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace plughost {
namespace {

// Out of descriptors: the connection waits in the backlog, and accept would fail at once again and again.
constexpr std::chrono::milliseconds kNoDescriptors{100};

}  // namespace

Acceptor::Acceptor(EventLoop& loop, UniqueFd socket, Accept accept, Trouble trouble)
    : accept_(std::move(accept)),
      trouble_(std::move(trouble)),
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
      if (!std::exchange(in_trouble_, true))
        trouble_(std::string("connections cannot be accepted, and wait: ") + std::strerror(errno));
      return;
    }
    in_trouble_ = false;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
      accept_(std::move(connection), peer);
  }
}

}  // namespace plughost
