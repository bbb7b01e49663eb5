#pragma once
// A unix socket that we listen on, and its file. Loop thread only.

#include <sys/types.h>

#include <filesystem>

#include "base/acceptor.hpp"

namespace plughost {

// The file of a socket that listens. Thread-safe.
class SocketFile {
 public:
  // Throws std::system_error.
  explicit SocketFile(std::filesystem::path path);
  // Removes the file, if it still is ours.
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  // Does the path still lead here? The kubelet empties its directory when it starts.
  bool reachable() const;

 private:
  std::filesystem::path path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

class Listener {
 public:
  // Throws std::system_error. The loop outlives it.
  Listener(EventLoop& loop, const std::filesystem::path& path, Acceptor::Accept accept,
           Acceptor::Trouble trouble);

  // See SocketFile.
  bool reachable() const { return file_.reachable(); }

 private:
  Acceptor acceptor_;
  SocketFile file_;
};

}  // namespace plughost
