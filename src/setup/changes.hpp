#pragma once
// What is to be done to a node's files, and doing it. Blocks on the file system; not thread-safe.

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/host_root.hpp"
#include "setup/files.hpp"

namespace plughost {

// What cannot be done, in a sentence.
struct SetupError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FileChange {
  std::string path;
  std::optional<std::string> before;  // nullopt: there is no such file
  std::optional<std::string> after;   // nullopt: it is taken away

  // As `diff -u` and patch(1) have it, with all of both texts, so that what stays is seen, too. Empty:
  // nothing changes.
  std::string diff() const;
  bool operator==(const FileChange&) const = default;
};

// Of the files those that are not as they are planned. One that is not ours, and is in the way, is a
// SetupError; one that is not in the way is left alone.
std::vector<FileChange> changes_of(const HostRoot& host, std::span<const PlannedFile> files);

// In their order, each at once or not at all: the first that cannot be made is a SetupError that says what
// was done before. A directory that is empty then goes with its last file.
void make_changes(const HostRoot& host, std::span<const FileChange> all);

}  // namespace plughost
