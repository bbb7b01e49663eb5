#pragma once
// The start of one program, which may take as long as its file system. run() is any thread's and the rest is
// the loop's, which may give it up meanwhile.

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "base/system/unique_fd.hpp"
#include "host/programs/program.hpp"

namespace plughost {

// A program that has begun, and is to be reaped by whoever has this.
struct Child {
  pid_t pid = 0;
  UniqueFd process;  // its pidfd
  UniqueFd output;   // to read from, without waiting
  UniqueFd errors;   // the same; empty if they are not apart
};

class Launch {
 public:
  explicit Launch(const Program& program);
  Launch& operator=(Launch&&) = delete;

  // Returns when the program has begun, or could not. Once.
  void run();
  // What it starts is killed, even while it is being started.
  void give_up();

  const std::vector<std::string>& command() const { return command_; }
  const std::string& path() const { return command_[0]; }
  // Has run() begun?
  bool begun() const;
  // Is there a child already? Then it may be asked for as after run().
  bool has_child() const;
  // After run(). Why there is no child; kExited: there is one.
  Ending::How how() const { return how_; }
  int number() const { return number_; }
  Child take() { return std::move(child_); }

 private:
  void start();
  bool may_begin();

  const std::vector<std::string> command_;
  const std::vector<std::string> environment_;
  const std::string input_;
  const Program::Errors errors_;
  mutable std::mutex mutex_;
  bool begun_ = false;
  bool given_up_ = false;
  bool returned_ = false;       // from the call that starts it
  std::atomic<pid_t> pid_ = 0;  // the child writes it
  Ending::How how_ = Ending::How::kExited;
  int number_ = 0;
  Child child_;
};

}  // namespace plughost
