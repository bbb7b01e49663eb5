#pragma once
// Reads the text of a configuration. Thread-safe.

#include <filesystem>
#include <string>
#include <variant>

namespace plughost {

// The reason why a file cannot be a configuration, as in "cannot be opened: No such file or directory".
struct FileError {
  std::string what;
};

// Returns the text of a regular file: UTF-8, no control characters except tabs and newlines, at most 1 MiB.
// Never waits for a FIFO or a device.
std::variant<std::string, FileError> read_text_file(const std::filesystem::path& file);

// Returns the text of an open file of any type, under the same limits. Waits for the end of a pipe.
std::variant<std::string, FileError> read_text(int fd);

}  // namespace plughost
