#pragma once
// The files of a machine. Thread-safe; its calls may block.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace plughost {

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

}  // namespace plughost
