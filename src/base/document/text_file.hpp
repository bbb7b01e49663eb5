#pragma once
// Reading a configuration's text. Thread-safe.

#include <filesystem>
#include <string>
#include <variant>

namespace plughost {

// Why a file is no text that could be a configuration: "cannot be opened: No such file or directory".
struct FileError {
  std::string what;
};

// The whole text of a regular file: UTF-8, without control characters but tab and line ends, at most 1 MiB.
// Never waits for a FIFO or a device.
std::variant<std::string, FileError> read_text_file(const std::filesystem::path& file);

// The same of what is open already, of whatever type: waits until a pipe ends.
std::variant<std::string, FileError> read_text(int fd);

}  // namespace plughost
