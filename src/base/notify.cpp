#include "base/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/number.hpp"

namespace plughost {

namespace {

std::optional<std::uint64_t> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : number_in<std::uint64_t>(text);
}

}  // namespace

Notifier::Notifier() {
  if (const char* socket = std::getenv("NOTIFY_SOCKET")) {
    socket_ = socket;
    from_ = UniqueFd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  }
  const auto pid = number_of("WATCHDOG_PID");
  const auto period = number_of("WATCHDOG_USEC");
  if (period && *period > 0 && (!pid || *pid == static_cast<std::uint64_t>(::getpid())))
    watchdog_ = std::chrono::milliseconds(std::max<std::uint64_t>(*period / 2000, 1));
}

// Its length; 0: there is no such address.
socklen_t Notifier::manager(sockaddr_un& address) const {
  address = {};
  address.sun_family = AF_UNIX;
  if (!from_ || socket_.empty() || socket_.size() >= sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
}

void Notifier::send(std::string_view lines) const {
  sockaddr_un address{};
  if (const socklen_t length = manager(address); length != 0)
    ::sendto(from_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), length);
}

bool Notifier::send(std::string_view lines, int fd) const {
  sockaddr_un address{};
  const socklen_t length = manager(address);
  if (length == 0) return false;
  std::string text(lines);
  iovec part{.iov_base = text.data(), .iov_len = text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(from_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

std::string reloading_message() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long microseconds = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  return "RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds);
}

}  // namespace plughost
