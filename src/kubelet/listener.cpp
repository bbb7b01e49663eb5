#include "kubelet/listener.hpp"

#include <sys/epoll.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "kubelet/unix_socket.hpp"

namespace plughost {

namespace {

// Out of descriptors: the connection waits in the backlog, and accept would fail at once again and again.
constexpr std::chrono::milliseconds kNoDescriptors{100};

}  // namespace

Listener::Listener(EventLoop& loop, const std::filesystem::path& path, Accept accept, Trouble trouble)
    : Listener(loop, path, listen_unix(path), std::move(accept), std::move(trouble)) {}

Listener::Listener(EventLoop& loop, std::filesystem::path path, UniqueFd listening, Accept accept,
                   Trouble trouble)
    : path_(std::move(path)),
      accept_(std::move(accept)),
      trouble_(std::move(trouble)),
      fd_(std::move(listening)),
      // Edge-triggered: a backlog that cannot be accepted now must not make the loop spin.
      watch_(loop, fd_.get(), EPOLLIN | EPOLLET, [this](std::uint32_t) { on_readable(); }),
      retry_(loop, [this] { on_readable(); }) {
  struct stat status {};
  check(::stat(path_.c_str(), &status), "stat " + path_.string());
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

Listener::~Listener() {
  if (stays_) return;
  struct stat status {};
  const bool ours =
      ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
}

bool Listener::reachable() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void Listener::on_readable() {
  for (;;) {
    UniqueFd connection{::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
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
