#include "base/system/files.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "unit/temp_dir.hpp"

using namespace plughost;
namespace fs = std::filesystem;

TEST_CASE("a second lock of a directory is refused with the id of the process that holds the first") {
  const test::TempDir dir;
  const DirectoryLock lock(dir.path());
  try {
    const DirectoryLock second(dir.path());
    FAIL("locked twice");
  } catch (const DirectoryHeld& held) {
    CHECK(std::string(held.what()).find("process " + std::to_string(::getpid())) != std::string::npos);
  }
}

TEST_CASE("a directory can be locked again after the lock's end") {
  const test::TempDir dir;
  std::optional<DirectoryLock> lock(std::in_place, dir.path());
  lock.reset();
  CHECK_NOTHROW(lock.emplace(dir.path()));
}

TEST_CASE("a directory that was made again is not the locked one") {
  const test::TempDir dir;
  const fs::path path = dir.path() / "d";
  fs::create_directory(path);
  const DirectoryLock lock(path);
  CHECK(lock.still_at(path));
  fs::remove(path);
  CHECK_FALSE(lock.still_at(path));
  fs::create_directory(path);
  CHECK_FALSE(lock.still_at(path));
}

TEST_CASE("a missing directory is an error that names it") {
  const test::TempDir dir;
  try {
    const DirectoryLock lock(dir.path() / "none");
    FAIL("locked nothing");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::no_such_file_or_directory);
    CHECK(std::string(error.what()).find("none") != std::string::npos);
  }
}
