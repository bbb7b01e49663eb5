#pragma once
// A recorded machine: its files as a tree in memory, whose links are resolved as by the kernel, and NVML's
// results. Values; thread-safe once built.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "host/hardware/machine_files.hpp"
#include "host/hardware/nvml.hpp"

namespace plughost {

class RecordedTree final : public MachineFiles {
 public:
  struct Entry;
  struct File {
    FileType type = FileType::kDirectory;
    // A regular file's content, a link's target, or a device node's number ("195:0"). nullopt: not recorded.
    std::optional<std::string> text;
    std::vector<Entry> entries;  // of a directory, sorted by name

    const Entry* entry(std::string_view name) const;  // nullptr: there is none
    // Returns the file of the entry with that name; creates an empty directory if there is no such entry.
    File& make(std::string_view name);
  };
  struct Entry {
    std::string name;
    File file;
  };

  // Stores a file at the path, and creates missing directories on the way. Replaces an existing file. Links
  // in the path are not followed.
  void add(std::string_view path, File file);
  File& root() { return root_; }
  const File& root() const { return root_; }

  struct Found {
    const File* file = nullptr;  // nullptr: see failed
    std::error_code failed;
  };
  Found find(std::string_view path, LastLink last = LastLink::kFollow) const;

  FileType type(const std::string& path, LastLink last) const override;
  std::optional<std::string> text(const std::string& path, std::size_t most) const override;
  std::optional<std::string> link_target(const std::string& path) const override;
  std::optional<std::string> canonical(const std::string& path) const override;
  std::optional<std::string> device_number(const std::string& path) const override;
  std::error_code list(const std::string& directory, const MachineFiles::Entry& entry) const override;

 private:
  File root_;
};

struct RecordedMachine {
  RecordedTree tree;
  NvmlView nvml;
  std::string node;  // the node's name in Kubernetes; empty: unknown
};

}  // namespace plughost
