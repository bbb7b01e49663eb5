#pragma once
// A directory for a test, created by the constructor and removed with its content by the destructor. Not
// thread-safe.

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace plughost::test {

class TempDir {
 public:
  TempDir() {
    std::string pattern = std::filesystem::temp_directory_path() / "plughost-XXXXXX";
    if (!::mkdtemp(pattern.data())) throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir& operator=(TempDir&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Paths are relative to path(), with or without a leading '/'. Parent directories are created.
  std::filesystem::path at(const std::filesystem::path& below) const { return path_ / below.relative_path(); }
  void file(const std::filesystem::path& below, std::string_view content = {}) const {
    std::filesystem::create_directories(at(below).parent_path());
    std::ofstream(at(below), std::ios::binary) << content;
  }
  void directory(const std::filesystem::path& below) const { std::filesystem::create_directories(at(below)); }
  void link(const std::filesystem::path& below, const std::filesystem::path& target) const {
    std::filesystem::create_directories(at(below).parent_path());
    std::filesystem::create_symlink(target, at(below));
  }
  void remove(const std::filesystem::path& below) const { std::filesystem::remove_all(at(below)); }

 private:
  std::filesystem::path path_;
};

}  // namespace plughost::test
