#pragma once
// File access on a machine: an interface, and this machine. Thread-safe; calls may block if a file system or
// a driver hangs.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace plughost {

inline constexpr std::size_t kMostFileText = 64u << 10;  // sysfs returns a page, binary files more

// Returns the content of a file of unknown size, such as those in /proc and /sys: at most `most` bytes,
// rounded up to a whole read. Returns nullopt if the file is missing or unreadable.
std::optional<std::string> file_text(const std::filesystem::path& file, std::size_t most = kMostFileText);

enum class FileType { kNothing, kDirectory, kRegular, kLink, kCharacter, kBlock, kSocket, kFifo, kOther };

inline bool is_device_node(FileType type) { return type == FileType::kCharacter || type == FileType::kBlock; }

// Whether the last component is followed if it is a link.
enum class LastLink { kFollow, kKeep };

// Paths are absolute. A file that cannot be accessed counts as missing.
class MachineFiles {
 public:
  virtual ~MachineFiles() = default;

  virtual FileType type(const std::string& path, LastLink last) const = 0;
  // As file_text(), but also returns nullopt for a file that was recorded without its content.
  virtual std::optional<std::string> text(const std::string& path, std::size_t most) const = 0;
  virtual std::optional<std::string> link_target(
      const std::string& path) const = 0;  // nullopt: it is not a link
  // Returns the path without links; nullopt if nothing exists there.
  virtual std::optional<std::string> canonical(const std::string& path) const = 0;
  // Returns a node's number, as in "195:0"; nullopt if there is no device node.
  virtual std::optional<std::string> device_number(const std::string& path) const = 0;
  // Calls `entry` for each entry of the directory, in any order; a link's type is kLink. Returns the error
  // that ended the list early.
  using Entry = std::function<void(std::string_view name, FileType type)>;
  virtual std::error_code list(const std::string& directory, const Entry& entry) const = 0;
};

// Returns this machine's files, or the tree below a prefix without a trailing '/'. canonical() returns a path
// outside the tree as it is on this machine.
std::shared_ptr<const MachineFiles> live_files(std::string prefix);

}  // namespace plughost
