#pragma once
// The files of a machine, and of this one. Thread-safe; what is called may block where a file system or a
// driver hangs.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace plughost {

inline constexpr std::size_t kMostFileText = 64u << 10;  // sysfs gives a page; binary files more

// A file's bytes, such as the kernel's own files in /proc and /sys, whose size nobody knows before: at most
// so many, rounded up to a whole read. nullopt: there is no such file, or it cannot be read.
std::optional<std::string> file_text(const std::filesystem::path& file, std::size_t most = kMostFileText);

// What stands at a path. A value.
enum class FileType { kNothing, kDirectory, kRegular, kLink, kCharacter, kBlock, kSocket, kFifo, kOther };

inline bool is_device_node(FileType type) { return type == FileType::kCharacter || type == FileType::kBlock; }

// Of a path's last link.
enum class LastLink { kFollow, kKeep };

// Paths are absolute. What cannot be looked at is as if it were not there.
class MachineFiles {
 public:
  virtual ~MachineFiles() = default;

  virtual FileType type(const std::string& path, LastLink last) const = 0;
  // As file_text; nullopt, too, of what was recorded without its content.
  virtual std::optional<std::string> text(const std::string& path, std::size_t most) const = 0;
  virtual std::optional<std::string> link_target(
      const std::string& path) const = 0;  // nullopt: it is no link
  // Without links; nullopt: there is nothing.
  virtual std::optional<std::string> canonical(const std::string& path) const = 0;
  // "195:0"; nullopt: there is no device node.
  virtual std::optional<std::string> device_number(const std::string& path) const = 0;
  // Calls for each entry of the directory, in any order; a link's type is kLink. Why it ended early.
  using Entry = std::function<void(std::string_view name, FileType type)>;
  virtual std::error_code list(const std::string& directory, const Entry& entry) const = 0;
};

// This machine's, or those of a tree below a prefix, which has no '/' at its end: what a link out of it leads
// to is called as on this machine.
std::shared_ptr<const MachineFiles> live_files(std::string prefix);

}  // namespace plughost
