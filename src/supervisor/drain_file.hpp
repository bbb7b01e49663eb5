#pragma once
// The file that drains outlive the daemon in. Blocks; one thread at a time.

#include <filesystem>
#include <string>
#include <vector>

#include "device/drains.hpp"

namespace plughost {

class DrainFile {
 public:
  static constexpr const char* kName = "drains.json";

  // The directory need not be there.
  explicit DrainFile(const std::filesystem::path& directory) : path_(directory / kName) {}

  const std::filesystem::path& path() const { return path_; }
  // What the file says; nothing, if there is none. What cannot be understood of it is told as sentences, and
  // the whole file is kept beside as drains.json.broken, drains.json.broken-2 and so on.
  Drains::Parsed read();
  // From now on the file says this, whatever becomes of the machine. Empty, or why it could not be written:
  // then it says what it said.
  std::string write(const std::string& text);

 private:
  // Throws std::system_error.
  std::filesystem::path set_aside();

  std::filesystem::path path_;
  bool broken_ = false;  // what lies there was not understood, and could not be set aside
};

}  // namespace plughost
