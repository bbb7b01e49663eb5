#include "base/dir_watch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
namespace fs = std::filesystem;

namespace {

struct Watched {
  explicit Watched(const fs::path& path, std::string pattern = "*")
      : watch(watcher.watch(path, std::move(pattern),
                            [this](std::string_view name) { seen.emplace_back(name); })) {}

  bool sees(const std::string& name) {
    return test::run_until(loop, [&] { return std::ranges::find(seen, name) != seen.end(); });
  }
  void forget() {
    test::run_once(loop);
    seen.clear();
  }

  EventLoop loop;
  DirWatcher watcher{loop, [](const std::string& trouble) { FAIL(trouble); }};
  std::vector<std::string> seen;
  std::unique_ptr<DirWatch> watch;
};

void touch(const fs::path& path) {
  std::ofstream{path};
}

}  // namespace

TEST_CASE("files that come, go and are renamed are told by name") {
  const test::TempDir dir;
  Watched watched(dir.path());
  touch(dir.path() / "a");
  CHECK(watched.sees("a"));
  watched.forget();
  fs::rename(dir.path() / "a", dir.path() / "b");
  CHECK(watched.sees("a"));
  CHECK(watched.sees("b"));
  watched.forget();
  fs::remove(dir.path() / "b");
  CHECK(watched.sees("b"));
}

TEST_CASE("names that do not match the pattern wake nobody") {
  const test::TempDir dir;
  Watched watched(dir.path(), "kubelet.sock");
  touch(dir.path() / ".kubelet_internal_checkpoint123");
  touch(dir.path() / "kubelet.sock");
  CHECK(watched.sees("kubelet.sock"));
  CHECK(watched.seen == std::vector<std::string>{"kubelet.sock"});
}

TEST_CASE("a directory that appears later, several levels deep, is watched from then on") {
  const test::TempDir dir;
  Watched watched(dir.path() / "serial" / "by-id");
  fs::create_directories(dir.path() / "serial" / "by-id");
  CHECK(watched.sees(""));
  watched.forget();
  touch(dir.path() / "serial" / "by-id" / "usb-1");
  CHECK(watched.sees("usb-1"));
}

TEST_CASE("a directory that is removed and made again is watched again, even while somebody holds it open") {
  const test::TempDir dir;
  const fs::path path = dir.path() / "d";
  fs::create_directory(path);
  const UniqueFd holder{check(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open")};
  Watched watched(path);
  fs::remove(path);
  CHECK(watched.sees(""));
  watched.forget();
  fs::create_directory(path);
  CHECK(watched.sees(""));
  watched.forget();
  touch(path / "x");
  CHECK(watched.sees("x"));
}

TEST_CASE("a directory above the watched one that is moved away is noticed") {
  const test::TempDir dir;
  fs::create_directories(dir.path() / "a" / "b");
  Watched watched(dir.path() / "a" / "b");
  fs::rename(dir.path() / "a", dir.path() / "elsewhere");
  CHECK(watched.sees(""));
  watched.forget();
  touch(dir.path() / "elsewhere" / "b" / "x");  // not the watched path any more
  fs::create_directories(dir.path() / "a" / "b");
  CHECK(watched.sees(""));
  CHECK(std::ranges::count(watched.seen, "x") == 0);
}

TEST_CASE("a link on the way is followed, and its new target watched when it is replaced") {
  const test::TempDir dir;
  fs::create_directory(dir.path() / "one");
  fs::create_directory(dir.path() / "two");
  fs::create_directory_symlink("one", dir.path() / "current");
  Watched watched(dir.path() / "current");
  touch(dir.path() / "one" / "x");
  CHECK(watched.sees("x"));
  watched.forget();
  fs::create_directory_symlink("two", dir.path() / "next");
  fs::rename(dir.path() / "next", dir.path() / "current");
  CHECK(watched.sees(""));
  watched.forget();
  touch(dir.path() / "two" / "y");
  CHECK(watched.sees("y"));
}

TEST_CASE("two watches on one directory get their own names, and one may end in the other's callback") {
  const test::TempDir dir;
  EventLoop loop;
  DirWatcher watcher(loop, [](const std::string& trouble) { FAIL(trouble); });
  int a = 0;
  int b = 0;
  std::unique_ptr<DirWatch> second;
  const auto first = watcher.watch(dir.path(), "a*", [&](std::string_view) {
    ++a;
    second.reset();
  });
  second = watcher.watch(dir.path(), "b*", [&](std::string_view) { ++b; });
  touch(dir.path() / "b1");
  CHECK(test::run_until(loop, [&] { return b == 1; }));
  touch(dir.path() / "a1");
  CHECK(test::run_until(loop, [&] { return a == 1; }));
  touch(dir.path() / "b2");
  touch(dir.path() / "a2");
  CHECK(test::run_until(loop, [&] { return a == 2; }));
  CHECK(b == 1);
}

TEST_CASE("when the kernel loses events, everything is to be looked at") {
  const test::TempDir dir;
  Watched watched(dir.path(), "nothing-has-this-name");
  std::ifstream limit("/proc/sys/fs/inotify/max_queued_events");
  int queue = 16384;
  limit >> queue;
  for (int i = 0; i <= queue / 2; ++i) {
    touch(dir.path() / "f");
    fs::rename(dir.path() / "f", dir.path() / "g");
  }
  CHECK(watched.sees(""));
}

TEST_CASE("a name that is not UTF-8 or holds a newline is told as it is") {
  const test::TempDir dir;
  Watched watched(dir.path());
  touch(dir.path() / "a\nb\xff");
  CHECK(watched.sees("a\nb\xff"));
}
