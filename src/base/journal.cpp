#include "base/journal.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace plughost {

namespace {

// "NAME=value", or with the value's length before it where a line's end is in it.
void append(std::string& datagram, const Journal::Field& field) {
  const auto& [name, value] = field;
  datagram += name;
  if (value.find('\n') == std::string_view::npos) {
    datagram += '=';
  } else {
    static_assert(std::endian::native == std::endian::little, "the length is little-endian on the wire");
    const std::uint64_t length = value.size();
    char bytes[sizeof length];
    std::memcpy(bytes, &length, sizeof length);
    datagram += '\n';
    datagram.append(bytes, sizeof bytes);
  }
  datagram += value;
  datagram += '\n';
}

}  // namespace

Journal::Journal(std::filesystem::path socket)
    : path_(std::move(socket)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

std::string Journal::datagram(std::span<const Field> fields) {
  std::string datagram;
  for (const Field& field : fields) append(datagram, field);
  return datagram;
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
