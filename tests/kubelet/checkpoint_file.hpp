#pragma once
// The file kubelet_internal_checkpoint in the format of Kubernetes 1.20 and later.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kubelet/device_book.hpp"

namespace plughost {

// Writes the checkpoint in a separate thread, because fsync takes milliseconds. If several texts wait, only
// the newest is written. Thread-safe.
class CheckpointFile {
 public:
  static constexpr const char* kName = "kubelet_internal_checkpoint";
  using OnError = std::function<void(std::string)>;

  // Calls `on_error` in the writing thread.
  CheckpointFile(const std::filesystem::path& directory, OnError on_error);
  // Returns when the last text that write() received has been written.
  ~CheckpointFile();
  CheckpointFile& operator=(CheckpointFile&&) = delete;

  // Writes as the kubelet does: a temporary file with a leading dot, fsync, rename. Returns the text's
  // number.
  std::uint64_t write(std::string text);
  // Waits until the text with that number, or a newer one, is in the file, or until writing it has failed.
  void wait_for(std::uint64_t number);

 private:
  void run();
  void replace_file(const std::string& text) const;

  std::filesystem::path directory_;
  OnError on_error_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::uint64_t given_ = 0;
  std::uint64_t written_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

std::string checkpoint_text(const DeviceBook& book);
// Returns an empty book if the file is missing. Throws std::exception if the file is not a checkpoint.
DeviceBook read_checkpoint(const std::filesystem::path& directory);

}  // namespace plughost
