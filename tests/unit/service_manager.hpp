#pragma once
// What systemd is to us, for a test.

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

// The variables are the process's: each test sets and clears them.
struct Variable {
  Variable(const char* its_name, const std::string& value) : name(its_name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  const char* name;
};

struct ServiceManager {
  ServiceManager() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    check(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  }

  struct Heard {
    std::string text;  // empty: nothing
    UniqueFd fd;       // what came with it
  };
  // The oldest message that nobody has heard yet.
  Heard heard() const {
    std::array<char, 512> text{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec part{.iov_base = text.data(), .iov_len = text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t length = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) return {};
    Heard heard{{text.data(), static_cast<std::size_t>(length)}, {}};
    if (const cmsghdr* const header = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
      heard.fd = UniqueFd(fd);
    }
    return heard;
  }

  const TempDir dir;
  const std::string path = dir.path() / "notify";
  const UniqueFd socket{check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket")};
};

}  // namespace plughost::test
