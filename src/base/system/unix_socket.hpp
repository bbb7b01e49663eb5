#pragma once
// Unix stream sockets by path, and their files. Thread-safe, but for Listener.

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/acceptor.hpp"
#include "base/system/unique_fd.hpp"

namespace plughost {

// Non-blocking and close-on-exec. Throws std::system_error: ENAMETOOLONG for a path over 107 bytes, before
// anything is tried.
UniqueFd connect_unix(const std::filesystem::path& path);
// Likewise, and listening; the file's mode is 0600 from the first moment.
UniqueFd listen_unix(const std::filesystem::path& path);
// The process at the other end of a connection that connect_unix made; 0: not to be seen from here. Throws
// std::system_error.
pid_t peer_process(int connection);
// The process that listens on the socket; 0: not to be seen from here. Throws as connect_unix does:
// ECONNREFUSED if nobody listens.
pid_t listening_process(const std::filesystem::path& path);

// A file, told from any other that has or had its name. Inodes are reused, so the time of a socket's making
// counts too; a directory's changes with its entries, and does not.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t changed_ns = 0;  // ctime; 0 for a directory

  bool operator==(const FileIdentity&) const = default;
};

// Of the socket or directory at path; nullopt: there is none.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

// A socket on which nobody listens: what a killed process left.
struct DeadSocket {
  dev_t device = 0;
  ino_t inode = 0;
};

// What is at path; nullopt: nothing. A symbolic link is not followed. Throws std::runtime_error, which says
// what is there and what to do, if it is anything else; std::system_error if that cannot be told.
std::optional<DeadSocket> dead_socket(const std::filesystem::path& path);

// Removes it, if it still is at path and nobody listens on it now. Throws as dead_socket does if something
// else came there meanwhile, and leaves that.
void remove_dead_socket(const std::filesystem::path& path, const DeadSocket& dead);

// The file of a socket that listens. Thread-safe.
class SocketFile {
 public:
  // Throws std::system_error.
  explicit SocketFile(std::filesystem::path path);
  // Removes the file, if it still is ours.
  ~SocketFile();
  SocketFile& operator=(SocketFile&&) = delete;

  // Does the path still lead here? The kubelet empties its directory when it starts.
  bool reachable() const;

 private:
  std::filesystem::path path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A unix socket that we listen on, and its file. Loop thread only.
class Listener {
 public:
  // Throws std::system_error. The loop outlives it.
  Listener(EventLoop& loop, const std::filesystem::path& path, Acceptor::Accept accept,
           Acceptor::Error error);

  // See SocketFile.
  bool reachable() const { return file_.reachable(); }

 private:
  Acceptor acceptor_;
  SocketFile file_;
};

// All our sockets, and nothing of anybody else's, begin so.
inline constexpr std::string_view kSocketPrefix = "plughost-";

// "plughost-<readable part>-<hash>-<incarnation>.sock": at most 60 bytes, whatever the resource's name. The
// kubelet must never see one name twice: it keeps clients by it.
std::string socket_name(std::string_view resource, std::uint32_t incarnation);

}  // namespace plughost
