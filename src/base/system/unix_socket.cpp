#include "base/system/unix_socket.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/system/files.hpp"
#include "base/text/ascii.hpp"
#include "base/text/words.hpp"

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

[[noreturn]] void throw_in_the_way(const std::filesystem::path& path, mode_t mode) {
  static constexpr Word<mode_t> kKinds[] = {{"a regular file", S_IFREG},
                                            {"a symbolic link", S_IFLNK},
                                            {"a directory", S_IFDIR},
                                            {"a FIFO", S_IFIFO}};
  const std::string_view kind = word_of(kKinds, mode & S_IFMT);
  throw std::runtime_error(path.string() + " is " + std::string(kind.empty() ? "a device" : kind) +
                           ", and only an unused socket is replaced: move it away, or name a different path");
}

[[noreturn]] void throw_answers(const std::filesystem::path& path) {
  throw std::runtime_error("another plughost answers on " + path.string());
}

// Returns an unused name in the same directory, not longer than a socket's name may be.
std::filesystem::path beside(const std::filesystem::path& path) {
  const std::filesystem::path directory = path.parent_path();
  const std::size_t room =
      kLongestSocketPath - std::min(kLongestSocketPath - 1, directory.native().size() + 1);
  const std::string name = std::to_string(std::random_device()()) + ".plughost";
  return directory / name.substr(0, room);
}

void rename_to_free(const std::filesystem::path& from, const std::filesystem::path& to) {
  check(::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE),
        "rename " + from.string() + " to " + to.string());
}

constexpr std::size_t kReadable = 24;

std::uint32_t fnv1a_32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
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
  check(::fchmod(fd.get(), 0600), "fchmod");  // bind(2) gives the file the mode of the socket
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

pid_t listening_process(const std::filesystem::path& path) { return peer_process(connect_unix(path).get()); }

std::optional<FileIdentity> identity_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) return FileIdentity{status.st_dev, status.st_ino, 0};
  if (!S_ISSOCK(status.st_mode)) return std::nullopt;
  const std::int64_t changed = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  return FileIdentity{status.st_dev, status.st_ino, changed};
}

bool somebody_listens(const std::filesystem::path& path) {
  try {
    connect_unix(path);
    return true;
  } catch (const std::system_error& exception) {
    if (exception.code() == std::errc::connection_refused) return false;
    // The listener's queue is full, or the socket has another type.
    if (exception.code() == std::errc::resource_unavailable_try_again ||
        exception.code() == std::errc::wrong_protocol_type)
      return true;
    throw;
  }
}

std::optional<DeadSocket> dead_socket(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_errno(path.string());
  }
  if (!S_ISSOCK(status.st_mode)) throw_in_the_way(path, status.st_mode);
  if (somebody_listens(path)) throw_answers(path);
  return DeadSocket{status.st_dev, status.st_ino};
}

// A file under a name that no other process knows cannot be replaced between the check and its removal.
void remove_dead_socket(const std::filesystem::path& path, const DeadSocket& dead) {
  const std::filesystem::path aside = beside(path);
  rename_to_free(path, aside);
  struct stat status {};
  check(::lstat(aside.c_str(), &status), aside.string());
  const bool the_same = status.st_dev == dead.device && status.st_ino == dead.inode;
  if (the_same && !somebody_listens(aside)) {
    check(::unlink(aside.c_str()), "unlink " + aside.string());
    return;
  }
  rename_to_free(aside, path);
  if (S_ISSOCK(status.st_mode)) throw_answers(path);
  throw_in_the_way(path, status.st_mode);
}

SocketFile::SocketFile(std::filesystem::path path) : path_(std::move(path)) {
  struct stat status {};
  check(::stat(path_.c_str(), &status), "stat " + path_.string());
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

SocketFile::~SocketFile() {
  struct stat status {};
  const bool ours =
      ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
}

bool SocketFile::reachable() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

Listener::Listener(EventLoop& loop, const std::filesystem::path& path, Acceptor::Accept accept,
                   Acceptor::Error error)
    : acceptor_(loop, listen_unix(path), std::move(accept), std::move(error)), file_(path) {}

std::string socket_name(std::string_view resource, std::uint32_t incarnation) {
  std::string readable;
  for (const char c : resource.substr(0, kReadable)) {
    readable += is_letter_or_digit(c) || c == '.' ? c : '_';
  }
  std::array<char, 40> tail{};
  std::snprintf(tail.data(), tail.size(), "-%08x-%u.sock", fnv1a_32(resource), incarnation);
  return std::string(kSocketPrefix) + readable + tail.data();
}

}  // namespace plughost
