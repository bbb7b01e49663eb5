#pragma once
// A directory of empty files that stops answering: a file system that speaks the kernel's FUSE protocol.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

// Mounted as long as it lives, in this process's mount namespace; nothing in it is cached, so that every look
// asks. Thread-safe. Ends the process as skipped where it cannot be mounted.
class HungFiles {
 public:
  HungFiles(std::filesystem::path directory, std::vector<std::string> names);
  // Whoever waits gets his answer.
  ~HungFiles();
  HungFiles& operator=(HungFiles&&) = delete;

  // It has one more file, of which no event tells.
  void add(std::string name);
  // opcode: a call of linux/fuse.h that gets no answer from now on.
  void hang_at(std::uint32_t opcode);
  // Answers again, and those first who wait.
  void answer();

 private:
  void serve();
  void reply(const std::string& request);

  std::filesystem::path directory_;
  std::vector<std::string> names_;  // a file's node is its place and 2
  UniqueFd device_;
  std::mutex mutex_;
  std::uint32_t hanging_ = 0;  // 0: nothing hangs
  std::vector<std::string> waiting_;
  std::thread server_;
};

}  // namespace plughost::test
