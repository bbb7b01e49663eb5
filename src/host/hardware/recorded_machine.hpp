#pragma once
// A machine as it was once: its files, which are a tree in memory whose links are followed as the kernel
// does, and what NVML said. Values; thread-safe once they are made.

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
    // Of a regular file its content, of a link its target, of a device node its number ("195:0").
    // nullopt: it was not recorded.
    std::optional<std::string> text;
    std::vector<Entry> entries;  // of a directory, sorted by name

    const Entry* entry(std::string_view name) const;  // nullptr: there is none
    // The entry of that name, which is made where there is none: an empty directory.
    File& make(std::string_view name);
  };
  struct Entry {
    std::string name;
    File file;
  };

  // Puts it at the path, and directories on the way to it; what was there is no more. A path of names alone:
  // links in it are not followed.
  void add(std::string_view path, File file);
  File& root() { return root_; }
  const File& root() const { return root_; }

  struct Found {
    const File* file = nullptr;  // nullptr: failed says why
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
  std::string node;  // its name in Kubernetes; empty: unknown
};

}  // namespace plughost
