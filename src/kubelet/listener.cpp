#include "kubelet/listener.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "kubelet/unix_socket.hpp"

namespace plughost {

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
                   Acceptor::Trouble trouble)
    : acceptor_(loop, listen_unix(path), std::move(accept), std::move(trouble)), file_(path) {}

}  // namespace plughost
