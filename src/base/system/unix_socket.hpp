#pragma once
// Unix stream sockets by path, and their files. Thread-safe, except Listener.

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/acceptor.hpp"
#include "base/system/unique_fd.hpp"

namespace plughost {

// Returns a connected, non-blocking, close-on-exec socket. Throws std::system_error; ENAMETOOLONG for a path
// over 107 bytes, before any system call.
UniqueFd connect_unix(const std::filesystem::path& path);
// Creates a bound, listening, non-blocking, close-on-exec socket, whose file has mode 0600 from the first
// moment. Throws like connect_unix().
UniqueFd listen_unix(const std::filesystem::path& path);
// Returns the process at the other end of a connection from connect_unix(), or 0 if it is in another pid
// namespace. Throws std::system_error.
pid_t peer_process(int connection);
// Returns the process that listens on the socket, or 0 if it is in another pid namespace. Throws like
// connect_unix(): ECONNREFUSED if no process listens.
pid_t listening_process(const std::filesystem::path& path);

// Distinguishes a file from every other file that has, or had, the same name. Inodes are reused, so a
// socket's creation time counts as well; a directory's ctime changes with its entries and does not count.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t changed_ns = 0;  // ctime; 0 for a directory

  bool operator==(const FileIdentity&) const = default;
};

// Returns the identity of the socket or directory at path, or nullopt if nothing is there.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

// Returns true if a process listens on the socket. Never waits. Throws std::system_error if the file is
// missing or cannot be examined.
bool somebody_listens(const std::filesystem::path& path);

// A socket on which no process listens: left behind by a killed process.
struct DeadSocket {
  dev_t device = 0;
  ino_t inode = 0;
};

// Returns the dead socket at path, or nullopt if nothing is there. Symbolic links are not followed. For
// anything else, throws std::runtime_error with what is there and what to do; std::system_error if that
// cannot be determined.
std::optional<DeadSocket> dead_socket(const std::filesystem::path& path);

// Removes the socket if it is still at path and no process listens on it. If another file is there by now,
// leaves that file and throws like dead_socket().
void remove_dead_socket(const std::filesystem::path& path, const DeadSocket& dead);

// The file of a listening socket. Thread-safe.
class SocketFile {
 public:
  // Throws std::system_error.
  explicit SocketFile(std::filesystem::path path);
  // Removes the file unless another file has replaced it.
  ~SocketFile();
  SocketFile& operator=(SocketFile&&) = delete;

  // Returns true if the path still leads to this socket. The kubelet empties its directory when it starts.
  bool reachable() const;

 private:
  std::filesystem::path path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A listening unix socket and its file. Loop thread only.
class Listener {
 public:
  // Throws std::system_error. `loop` must outlive this object.
  Listener(EventLoop& loop, const std::filesystem::path& path, Acceptor::Accept accept,
           Acceptor::Error error);

  // See SocketFile.
  bool reachable() const { return file_.reachable(); }

 private:
  Acceptor acceptor_;
  SocketFile file_;
};

// The prefix of our sockets' names, which no other program uses.
inline constexpr std::string_view kSocketPrefix = "plughost-";

// Returns "plughost-<readable part>-<hash>-<incarnation>.sock", at most 60 bytes for any resource name. A
// name must never be used twice, because the kubelet caches clients by name.
std::string socket_name(std::string_view resource, std::uint32_t incarnation);

}  // namespace plughost
