#pragma once
// A directory of empty files whose file system stops answering on request, through the kernel's FUSE
// protocol.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/system/unique_fd.hpp"

namespace plughost::test {

// The directory is mounted in this process's mount namespace while the object lives, and nothing is cached.
// The process ends as skipped if the mount fails. Thread-safe.
class HungFiles {
 public:
  HungFiles(std::filesystem::path directory, std::vector<std::string> names);
  // Answers all waiting requests, and unmounts the directory.
  ~HungFiles();
  HungFiles& operator=(HungFiles&&) = delete;

  // Adds a file without an inotify event.
  void add(std::string name);
  // Stops answering requests of the type `opcode`, a constant of linux/fuse.h.
  void hang_at(std::uint32_t opcode);
  // Answers the waiting requests and all later ones.
  void answer();

 private:
  void serve();
  void reply(const std::string& request);

  std::filesystem::path directory_;
  std::vector<std::string> names_;  // the node number of a file is its index plus 2
  UniqueFd device_;
  std::mutex mutex_;
  std::uint32_t hanging_ = 0;  // 0: answers everything
  std::vector<std::string> waiting_;
  std::thread server_;
};

}  // namespace plughost::test
