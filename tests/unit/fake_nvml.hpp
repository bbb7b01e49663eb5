#pragma once
// Provides the fake NVML library of tests/fakes/nvml, and the text that describes its cards. A process can
// have one at a time. Not thread-safe.

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "unit/temp_dir.hpp"

namespace plughost::test {

class FakeNvml {
 public:
  explicit FakeNvml(const std::string& script) {
    show(script);
    ::setenv("PLUGHOST_FAKE_NVML", file().c_str(), 1);
  }
  ~FakeNvml() { ::unsetenv("PLUGHOST_FAKE_NVML"); }
  FakeNvml& operator=(FakeNvml&&) = delete;

  // Replaces the text from the library's next call on. The text is replaced atomically for running calls.
  void show(const std::string& script) const {
    directory_.file("next", script);
    std::filesystem::rename(directory_.at("next"), file());
  }
  // Returns true if the library is initialized at present.
  bool in_use() const { return std::filesystem::exists(directory_.at("nvml.open")); }

 private:
  std::filesystem::path file() const { return directory_.at("nvml"); }
  TempDir directory_;
};

}  // namespace plughost::test
