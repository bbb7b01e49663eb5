#pragma once
// kubelet_internal_checkpoint, in the format of Kubernetes 1.20 and later.

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

// Written by a thread of its own, because fsync takes milliseconds: of several new texts the newest is
// written. Thread-safe.
class CheckpointFile {
 public:
  static constexpr const char* kName = "kubelet_internal_checkpoint";
  using OnError = std::function<void(std::string)>;

  // on_error comes from that thread.
  CheckpointFile(const std::filesystem::path& directory, OnError on_error);
  // What was given to write() is written first.
  ~CheckpointFile();
  CheckpointFile& operator=(CheckpointFile&&) = delete;

  // As the kubelet: a temporary file with a dot before its name, fsync, rename. Returns the text's number.
  std::uint64_t write(std::string text);
  // Until that text, or a newer one, is in the file, or could not be written.
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
// An empty book if there is no such file. Throws std::exception if it is no checkpoint.
DeviceBook read_checkpoint(const std::filesystem::path& directory);

}  // namespace plughost
