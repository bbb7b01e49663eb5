#pragma once
// Starts one program, which may take any time if the program's file system does not respond. Any thread may
// call run(); everything else belongs to the loop, which may abandon the start.
//
// execve() waits for the program's file system, for hours if an NFS server hangs. So a start runs on a
// thread, which the loop abandons at the deadline; the thread ends its child itself when execve() returns
// after all. A start on the loop was refused, because vfork() and posix_spawn() wait for execve(). A program
// of which four starts hang is not started again.

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/system/unique_fd.hpp"
#include "host/programs/program.hpp"

namespace plughost {

// A started program. The owner must reap it.
struct Child {
  pid_t pid = 0;
  UniqueFd process;  // pidfd
  UniqueFd output;   // non-blocking, for reading
  UniqueFd errors;   // as `output`; empty if standard error goes to `output`
};

class Launch {
 public:
  explicit Launch(const Program& program);
  Launch& operator=(Launch&&) = delete;

  // Blocks until the program has begun, or cannot begin. Call run() once.
  void run();
  // Kills the program, even while it is being started.
  void give_up();

  const std::vector<std::string>& command() const { return program_.command; }
  const std::string& path() const { return program_.command[0]; }
  // Returns true once run() has begun.
  bool begun() const;
  // Returns true if there is a child. The functions below are then valid even before run() returns.
  bool has_child() const;
  // The reason why there is no child; kExited if there is a child. Valid after run().
  Ending::How how() const { return how_; }
  int number() const { return number_; }
  Child take() { return std::move(child_); }

 private:
  void start();
  bool may_begin();

  Program program_;  // without its callback, which belongs to the loop
  mutable std::mutex mutex_;
  bool begun_ = false;
  bool given_up_ = false;
  bool returned_ = false;       // clone() has returned
  std::atomic<pid_t> pid_ = 0;  // written by the child
  Ending::How how_ = Ending::How::kExited;
  int number_ = 0;
  Child child_;
};

}  // namespace plughost
