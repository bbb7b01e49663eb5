#include "base/system/systemd.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/text/text.hpp"

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

void Notifier::send(std::string_view lines) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  if (from_)
    ::sendto(from_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&address), length);
}

std::string reloading_message() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long microseconds = static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  return "RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds);
}

Journal::Journal(std::filesystem::path socket)
    : path_(std::move(socket)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

// Serializes "NAME=value", or the binary form with the value's length if the value contains a newline.
std::string Journal::field(std::string_view name, std::string_view value) {
  std::string text(name);
  if (value.find('\n') == std::string_view::npos) {
    text += '=';
  } else {
    static_assert(std::endian::native == std::endian::little, "the length is little-endian on the wire");
    const std::uint64_t length = value.size();
    text += '\n';
    text.append(reinterpret_cast<const char*>(&length), sizeof length);
  }
  return text.append(value) += '\n';
}

bool Journal::send(std::string_view datagram) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!socket_ || path_.native().size() >= sizeof address.sun_path) return false;
  path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
  return ::sendto(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0;
}

bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat file {};
  if (stream == nullptr || ::fstat(STDERR_FILENO, &file) != 0) return false;
  return stream == std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

}  // namespace plughost
