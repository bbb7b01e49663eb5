#pragma once
// This machine's files, or those of a tree below a prefix.

#include <string>

#include "host/machine_files.hpp"

namespace plughost {

class LiveFiles final : public MachineFiles {
 public:
  // prefix: without a '/' at its end. What a link out of it leads to is called as on this machine.
  explicit LiveFiles(std::string prefix) : prefix_(std::move(prefix)) {}

  FileType type(const std::string& path, LastLink last) const override;
  std::optional<std::string> text(const std::string& path, std::size_t most) const override;
  std::optional<std::string> link_target(const std::string& path) const override;
  std::optional<std::string> canonical(const std::string& path) const override;
  std::optional<std::string> device_number(const std::string& path) const override;
  std::error_code list(const std::string& directory, const Entry& entry) const override;

 private:
  std::string real(const std::string& path) const { return prefix_ + path; }

  std::string prefix_;
};

}  // namespace plughost
