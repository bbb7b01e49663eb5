#include "base/journal.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace plughost {

Journal::Journal(std::filesystem::path socket)
    : path_(std::move(socket)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

// "NAME=value", or with the value's length before it where a line's end is in it.
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
