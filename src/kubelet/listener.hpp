#pragma once
// A unix socket that we listen on, and its file. Loop thread only.

#include <sys/socket.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>

#include "base/event_loop.hpp"
#include "base/unique_fd.hpp"

namespace plughost {

class Listener {
 public:
  // connection is non-blocking and close-on-exec; peer is who connected (pid 0: in another pid namespace).
  using Accept = std::function<void(UniqueFd connection, const ucred& peer)>;

  // Called when connections cannot be accepted, once until one can; they wait meanwhile.
  using Trouble = std::function<void(const std::string& what)>;

  // Throws std::system_error. The loop outlives it.
  Listener(EventLoop& loop, const std::filesystem::path& path, Accept accept, Trouble trouble);
  // For a socket that listens already, and is what path leads to.
  Listener(EventLoop& loop, std::filesystem::path path, UniqueFd listening, Accept accept, Trouble trouble);
  // Removes the file, if it still is ours and is not to stay.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return fd_.get(); }
  void let_file_stay() { stays_ = true; }
  // Does the path still lead here? The kubelet empties its directory when it starts.
  bool reachable() const;

 private:
  void on_readable();

  std::filesystem::path path_;
  Accept accept_;
  Trouble trouble_;
  bool in_trouble_ = false;
  bool stays_ = false;
  UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  IoWatch watch_;
  Timer retry_;
};

}  // namespace plughost
