#include "kubelet/unix_socket.hpp"

#include <sys/stat.h>

#include <cstring>

#include "base/kernel_limits.hpp"

namespace plughost {

namespace {

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() > kLongestSocketPath) {
    errno = ENAMETOOLONG;
    throw_errno(text);
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

UniqueFd make_socket() {
  return UniqueFd{check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")};
}

const sockaddr* as_sockaddr(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

UniqueFd connect_unix(const std::filesystem::path& path) {
  const sockaddr_un address = address_of(path);
  UniqueFd fd = make_socket();
  check(::connect(fd.get(), as_sockaddr(address), sizeof address), "connect " + path.string());
  return fd;
}

UniqueFd listen_unix(const std::filesystem::path& path) {
  const sockaddr_un address = address_of(path);
  UniqueFd fd = make_socket();
  check(::fchmod(fd.get(), 0600), "fchmod");  // bind(2) gives the file the socket's own mode
  check(::bind(fd.get(), as_sockaddr(address), sizeof address), "bind " + path.string());
  if (::listen(fd.get(), SOMAXCONN) < 0) {
    const int error = errno;
    ::unlink(path.c_str());
    errno = error;
    throw_errno("listen " + path.string());
  }
  return fd;
}

pid_t peer_process(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  check(::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size), "SO_PEERCRED");
  return peer.pid;
}

pid_t listening_process(const std::filesystem::path& path) {
  return peer_process(connect_unix(path).get());
}

}  // namespace plughost
