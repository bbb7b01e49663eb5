#pragma once
// Test programs that wait until the test has counted them. Not thread-safe.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

// A shell script that creates a file in the directory $1 and waits for let_go(). $2 distinguishes its file
// from those of other scripts.
inline const std::string kWaiting = "touch $1/begun-$2; while [ ! -e $1/go ]; do sleep 0.02; done";

inline std::size_t begun(const TempDir& dir) {
  const std::filesystem::directory_iterator files(dir.path());
  return static_cast<std::size_t>(std::count_if(begin(files), end(files), [](const auto& file) {
    return file.path().filename().string().starts_with("begun-");
  }));
}

inline void let_go(const TempDir& dir) { dir.file("go"); }

// Returns true if exactly `count` scripts run and no further one starts.
inline bool only_run(EventLoop& loop, const TempDir& dir, std::size_t count) {
  if (!run_until(loop, [&] { return begun(dir) >= count; })) return false;
  run_until(
      loop, [&] { return begun(dir) > count; }, std::chrono::milliseconds(300));
  return begun(dir) == count;
}

}  // namespace plughost::test
