#include "base/system/dir_watch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

void fail(const std::string& error) { FAIL(error); }

struct Watched {
  // Returns when the watch has reported that it is active.
  explicit Watched(const fs::path& path, std::string pattern = "*")
      : watch(watcher.watch(path, std::move(pattern),
                            [this](std::string_view name) { seen.emplace_back(name); })) {
    REQUIRE(sees(""));
    forget();
  }

  bool sees(const std::string& name) {
    return test::run_until(loop, [&] { return std::ranges::find(seen, name) != seen.end(); });
  }
  void forget() {
    test::run_once(loop);
    seen.clear();
  }

  EventLoop loop;
  DirWatcher watcher{loop, fail};
  Names seen;
  std::unique_ptr<DirWatch> watch;
};

void touch(const fs::path& path) { std::ofstream{path}; }

// Returns the number of inotify watches of this process.
int kernel_watches() {
  int count = 0;
  for (const auto& info : fs::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(info.path());
    for (std::string line; std::getline(file, line);) count += line.starts_with("inotify ") ? 1 : 0;
  }
  return count;
}

// Watches directories, and lets tests observe and refuse the kernel's watches.
struct Observed {
  std::unique_ptr<DirWatch> watch(const fs::path& path, Names& seen) {
    return watcher.watch(path, "*", [&seen](std::string_view name) { seen.emplace_back(name); });
  }
  bool until(const std::function<bool()>& condition) { return test::run_until(loop, condition); }

  EventLoop loop;
  Names errors;
  Names reliefs;
  std::map<fs::path, int> asked;  // number of requests for a watch, by directory
  std::set<fs::path> starving;    // directories whose watch the kernel refuses
  std::set<fs::path> remote;      // mount points of file systems that may not answer
  std::function<void(const fs::path& directory)> asking = [](const fs::path&) {};
  DirWatcher watcher{loop,
                     {.error = [this](std::string text) { errors.push_back(std::move(text)); },
                      .relief = [this](std::string text) { reliefs.push_back(std::move(text)); },
                      .retry = 20ms,
                      .add_watch =
                          [this](int fd, const char* directory, std::uint32_t mask) {
                            ++asked[directory];
                            asking(directory);
                            errno = ENOSPC;
                            return starving.contains(directory) ? -1
                                                                : ::inotify_add_watch(fd, directory, mask);
                          },
                      .is_remote = [this](const std::string& path) { return remote.contains(path); }}};
};

}  // namespace

TEST_CASE("a watch reports to each subscriber once that it is active, and not from within watch()") {
  const test::TempDir dir;
  EventLoop loop;
  DirWatcher watcher(loop, fail);
  Names first;
  Names second;
  const auto one = watcher.watch(dir.path(), "*", [&](std::string_view name) { first.emplace_back(name); });
  CHECK(first.empty());
  CHECK(test::run_until(loop, [&] { return !first.empty(); }));
  const auto two = watcher.watch(dir.path(), "*", [&](std::string_view name) { second.emplace_back(name); });
  CHECK(second.empty());
  CHECK(test::run_until(loop, [&] { return !second.empty(); }));
  watcher.refresh();
  touch(dir.path() / "x");
  CHECK(test::run_until(loop, [&] { return first.size() > 1 && second.size() > 1; }));
  CHECK(first == Names{"", "x"});
  CHECK(second == Names{"", "x"});
}

TEST_CASE("files that appear, vanish and are renamed are reported by name") {
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

TEST_CASE(
    "a written file is reported only to subscribers for contents, also if a different subscriber watched "
    "first") {
  const test::TempDir dir;
  touch(dir.path() / "a");
  touch(dir.path() / "b");
  Watched watched(dir.path());
  Names contents;
  const auto second = watched.watcher.watch(
      dir.path(), "a", [&](std::string_view name) { contents.emplace_back(name); }, WatchFor::kContents);
  CHECK(test::run_until(watched.loop, [&] { return contents == Names{""}; }));
  std::ofstream(dir.path() / "b") << "b";
  std::ofstream(dir.path() / "a") << "a";
  CHECK(test::run_until(watched.loop, [&] { return contents == Names{"", "a"}; }));
  fs::remove(dir.path() / "a");
  CHECK(watched.sees("a"));
  CHECK(watched.seen == Names{"a"});
  CHECK(contents == Names{"", "a", "a"});
}

TEST_CASE("a file whose name does not match the pattern is not reported") {
  const test::TempDir dir;
  Watched watched(dir.path(), "kubelet.sock");
  touch(dir.path() / ".kubelet_internal_checkpoint123");
  touch(dir.path() / "kubelet.sock");
  CHECK(watched.sees("kubelet.sock"));
  CHECK(watched.seen == Names{"kubelet.sock"});
}

TEST_CASE("a directory that appears later, several levels deep, is watched") {
  const test::TempDir dir;
  Watched watched(dir.path() / "serial" / "by-id");
  fs::create_directories(dir.path() / "serial" / "by-id");
  CHECK(watched.sees(""));
  touch(dir.path() / "serial" / "by-id" / "usb-1");
  CHECK(watched.sees("usb-1"));
}

TEST_CASE(
    "a directory that is removed and created again is watched again, even if a process holds the old one "
    "open") {
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

TEST_CASE("if a parent of a watched directory is moved, the watch reports it and waits at the old path") {
  const test::TempDir dir;
  fs::create_directories(dir.path() / "a" / "b");
  Watched watched(dir.path() / "a" / "b");
  fs::rename(dir.path() / "a", dir.path() / "elsewhere");
  CHECK(watched.sees(""));
  watched.forget();
  touch(dir.path() / "elsewhere" / "b" / "x");  // this is not the watched path any more
  fs::create_directories(dir.path() / "a" / "b");
  CHECK(watched.sees(""));
  CHECK(std::ranges::count(watched.seen, "x") == 0);
}

TEST_CASE("a link on the path is followed, and its new target watched when it is replaced") {
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
  touch(dir.path() / "two" / "y");
  CHECK(watched.sees("y"));
}

TEST_CASE(
    "links that form a circle are not followed endlessly, and a directory that replaces one is watched") {
  const test::TempDir dir;
  fs::create_directory_symlink("b", dir.path() / "a");
  fs::create_directory_symlink("a", dir.path() / "b");
  Watched watched(dir.path() / "a" / "c");
  fs::remove(dir.path() / "b");
  CHECK(watched.sees(""));
  watched.forget();
  fs::create_directories(dir.path() / "b" / "c");
  CHECK(watched.sees(""));
  touch(dir.path() / "b" / "c" / "x");
  CHECK(watched.sees("x"));
}

TEST_CASE(
    "two watches of one directory receive only their own names, and one may end in the callback of the "
    "other") {
  const test::TempDir dir;
  EventLoop loop;
  DirWatcher watcher(loop, fail);
  Names a;
  Names b;
  std::unique_ptr<DirWatch> second;
  const auto first = watcher.watch(dir.path(), "a*", [&](std::string_view name) {
    a.emplace_back(name);
    if (!name.empty()) second.reset();
  });
  second = watcher.watch(dir.path(), "b*", [&](std::string_view name) { b.emplace_back(name); });
  REQUIRE(test::run_until(loop, [&] { return a == Names{""} && b == Names{""}; }));
  touch(dir.path() / "b1");
  CHECK(test::run_until(loop, [&] { return b.size() == 2; }));
  touch(dir.path() / "a1");
  CHECK(test::run_until(loop, [&] { return a.size() == 2; }));
  touch(dir.path() / "b2");
  touch(dir.path() / "a2");
  CHECK(test::run_until(loop, [&] { return a.size() == 3; }));
  CHECK(a == Names{"", "a1", "a2"});
  CHECK(b == Names{"", "b1"});
}

TEST_CASE("an overflow of the inotify queue is reported as an unknown change") {
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

TEST_CASE("a name that is not UTF-8 or has a newline is reported unchanged") {
  const test::TempDir dir;
  Watched watched(dir.path());
  touch(dir.path() / "a\nb\xff");
  CHECK(watched.sees("a\nb\xff"));
}

TEST_CASE("a kernel watch ends with the last subscriber that needs it") {
  const test::TempDir dir;
  fs::create_directories(dir.path() / "a" / "b");
  Watched watched(dir.path() / "a" / "b");
  const int with_one = kernel_watches();
  CHECK(with_one >= 3);
  bool in_force = false;
  auto other = watched.watcher.watch(dir.path() / "a", "*", [&](std::string_view) { in_force = true; });
  CHECK(test::run_until(watched.loop, [&] { return in_force; }));
  CHECK(kernel_watches() == with_one);  // the kernel already watched every directory of the path
  watched.watch.reset();
  CHECK(test::run_until(watched.loop, [&] { return kernel_watches() == with_one - 1; }));
  touch(dir.path() / "a" / "x");
  in_force = false;
  CHECK(test::run_until(watched.loop, [&] { return in_force; }));
  other.reset();
  CHECK(test::run_until(watched.loop, [&] { return kernel_watches() == 0; }));
}

TEST_CASE("a path in a file system that may hang is not touched, and is polled") {
  const test::TempDir dir;
  dir.directory("mounted/deeper");
  fs::create_directory_symlink(dir.at("mounted/deeper"), dir.at("link"));
  Observed observed;
  observed.remote = {dir.at("mounted")};
  Names behind_link;
  Names deeper;
  Names well;
  const auto first = observed.watch(dir.at("link"), behind_link);
  const auto second = observed.watch(dir.at("mounted/deeper"), deeper);
  const auto third = observed.watch(dir.at("mounted-beside"), well);  // not below the mount point
  CHECK(observed.until([&] { return behind_link.size() > 2 && deeper.size() > 2; }));
  CHECK(well == Names{""});
  CHECK(std::ranges::count(deeper, "") == std::ssize(deeper));
  CHECK_FALSE(observed.asked.contains(dir.at("mounted")));
  CHECK_FALSE(observed.asked.contains(dir.at("mounted/deeper")));
  CHECK(observed.errors.empty());
}

TEST_CASE("a path is watched once its file system is unmounted, and polled once one is mounted") {
  const test::TempDir dir;
  dir.directory("mounted/deeper");
  Observed observed;
  observed.remote = {dir.at("mounted")};
  Names seen;
  const auto watch = observed.watch(dir.at("mounted/deeper"), seen);
  REQUIRE(observed.until([&] { return seen.size() > 1; }));
  observed.remote.clear();
  observed.watcher.refresh();
  test::run_once(observed.loop);
  touch(dir.at("mounted/deeper/x"));
  CHECK(observed.until([&] { return std::ranges::find(seen, "x") != seen.end(); }));
  const std::size_t watched = seen.size();
  observed.remote = {dir.at("mounted")};
  observed.watcher.refresh();
  CHECK(observed.until([&] { return seen.size() > watched + 2; }));
}

TEST_CASE("of 1,500 directories each is resolved once for all its watches, and all kernel watches end") {
  constexpr int kDirectories = 1500;
  const test::TempDir dir;
  Observed observed;
  // Each resolution of a path ends with one kernel watch of the directory itself.
  const auto looks = [&] {
    int all = 0;
    for (const auto& [path, count] : observed.asked) all += path.parent_path() == dir.path() ? count : 0;
    return all;
  };
  int in_force = 0;
  std::vector<std::unique_ptr<DirWatch>> watches;
  for (int i = 0; i < kDirectories; ++i) {
    const fs::path path = dir.at(std::to_string(i));
    fs::create_directory(path);
    for (const char* pattern : {"a*", "b*"})
      watches.push_back(observed.watcher.watch(path, pattern, [&](std::string_view) { ++in_force; }));
  }
  CHECK(observed.until([&] { return in_force == 2 * kDirectories; }));
  CHECK(looks() == kDirectories);
  CHECK(kernel_watches() >= kDirectories);
  observed.watcher.refresh();
  observed.watcher.refresh();
  CHECK(observed.until([&] { return looks() == 2 * kDirectories; }));
  touch(dir.at("0/b"));
  CHECK(observed.until([&] { return in_force > 2 * kDirectories; }));
  CHECK(in_force == 2 * kDirectories + 1);
  CHECK(looks() == 2 * kDirectories);
  watches.clear();
  CHECK(observed.until([&] { return kernel_watches() == 0; }));
  CHECK(observed.errors.empty());
}

TEST_CASE(
    "without an inotify instance all paths are polled and the limit is reported once, until an instance is "
    "available") {
  const test::TempDir dir;
  rlimit before{};
  check(::getrlimit(RLIMIT_NOFILE, &before), "getrlimit");
  EventLoop loop;
  Names errors;
  Names reliefs;
  Names seen;
  const auto watcher = [&] {
    // The kernel's error is the same for missing descriptors and for missing instances.
    const int next = check(::dup(0), "dup");
    ::close(next);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before.rlim_max};
    check(::setrlimit(RLIMIT_NOFILE, &none), "setrlimit");
    return std::make_unique<DirWatcher>(
        loop, DirWatcher::Options{.error = [&](std::string text) { errors.push_back(std::move(text)); },
                                  .relief =
                                      [&](std::string text) {
                                        reliefs.push_back(std::move(text));
                                        seen.clear();
                                      },
                                  .retry = 20ms});
  }();
  CHECK(errors == Names{"no directory can be watched: all inotify instances of this user are taken, raise "
                        "fs.inotify.max_user_instances; until then they are polled"});
  const auto watch = watcher->watch(dir.path(), "*", [&](std::string_view name) { seen.emplace_back(name); });
  CHECK(test::run_until(loop, [&] { return seen == Names{"", "", ""}; }));
  CHECK(errors.size() == 1);
  CHECK(reliefs.empty());

  check(::setrlimit(RLIMIT_NOFILE, &before), "setrlimit");
  CHECK(test::run_until(loop, [&] { return !reliefs.empty() && seen == Names{""}; }));
  touch(dir.at("x"));
  CHECK(test::run_until(loop, [&] { return seen.size() > 1; }));
  CHECK(seen == Names{"", "x"});
  CHECK(reliefs == Names{"directories are watched: there is an inotify instance again"});
}

TEST_CASE("a path that the kernel refuses to watch is polled, and the relief is reported") {
  const test::TempDir dir;
  dir.directory("poor");
  dir.directory("rich");
  Observed observed;
  observed.starving = {dir.at("poor")};
  Names poor;
  Names rich;
  auto first = observed.watch(dir.at("poor"), poor);
  const auto second = observed.watch(dir.at("rich"), rich);
  CHECK(observed.until([&] { return poor == Names{"", "", ""}; }));
  CHECK(rich == Names{""});
  CHECK(observed.errors ==
        Names{"too many inotify watches for fs.inotify.max_user_watches: raise it; until then " +
              dir.at("poor").string() + " is only polled"});
  CHECK(observed.reliefs.empty());
  SUBCASE("when the kernel allows the watch") {
    observed.starving.clear();
    CHECK(observed.until([&] { return !observed.reliefs.empty(); }));
    poor.clear();
    touch(dir.at("poor/x"));
    CHECK(observed.until([&] { return std::ranges::find(poor, "x") != poor.end(); }));
  }
  SUBCASE("when the watch of the path ends") { first.reset(); }
  CHECK(observed.reliefs == Names{"every directory is watched again"});
  CHECK(observed.errors.size() == 1);
}

TEST_CASE("a directory that appears while its parent begins to be watched is not missed") {
  const test::TempDir dir;
  Observed observed;
  // The parent is watched twice: as a part of the path, and again because the directory is missing.
  observed.asking = [&](const fs::path& directory) {
    if (directory == dir.path() && observed.asked[directory] == 2) dir.directory("late");
  };
  Names seen;
  const auto watch = observed.watch(dir.at("late"), seen);
  REQUIRE(observed.until([&] { return seen == Names{""}; }));
  touch(dir.at("late/x"));
  CHECK(observed.until([&] { return std::ranges::find(seen, "x") != seen.end(); }));
}
