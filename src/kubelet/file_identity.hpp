#pragma once
// Which of the files that had a name over time is there now. Plain values.

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace plughost {

// A file, told from any other that has or had its name. Inodes are reused, so the time of a socket's making
// counts too; a directory's changes with its entries, and does not.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::int64_t changed_ns = 0;  // ctime; 0 for a directory

  bool operator==(const FileIdentity&) const = default;
};

// Of the socket or directory at path; nullopt: there is none.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

}  // namespace plughost
