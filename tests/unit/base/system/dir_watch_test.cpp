#include "base/system/dir_watch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
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
  // Returns when the watch is in force.
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

// The inotify watches that this process has.
int kernel_watches() {
  int count = 0;
  for (const auto& info : fs::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(info.path());
    for (std::string line; std::getline(file, line);) count += line.starts_with("inotify ") ? 1 : 0;
  }
  return count;
}

// A file system that does not answer while it is told not to: whoever comes to one of these paths waits.
class Hanging {
 public:
  ~Hanging() { answer(); }

  void hang_at(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    hanging_.insert(path);
  }
  void answer() {
    const std::lock_guard lock(mutex_);
    hanging_.clear();
    changed_.notify_all();
  }
  // Stands between the watcher and the machine.
  DirWatcher::Place place() {
    return [this](Inotify& inotify, Inotify::Owner owner, const fs::path& directory, WatchFor what,
                  const AtPath& at) {
      {
        const std::lock_guard lock(mutex_);
        ++looks_[directory];
      }
      return place_watches(inotify, owner, directory, what, [&](const fs::path& step) {
        at(step);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !hanging_.contains(step); });
      });
    };
  }
  int looks_at(const fs::path& path) {
    const std::lock_guard lock(mutex_);
    return looks_[path];
  }
  int looks() {
    const std::lock_guard lock(mutex_);
    int all = 0;
    for (const auto& [path, count] : looks_) all += count;
    return all;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<fs::path> hanging_;
  std::map<fs::path, int> looks_;
};

// Watches paths, some of which hang.
struct Hung {
  std::unique_ptr<DirWatch> watch(const fs::path& path, Names& seen) {
    return watcher.watch(path, "*", [&seen](std::string_view name) { seen.emplace_back(name); });
  }
  bool until(const std::function<bool()>& condition) { return test::run_until(loop, condition); }

  Hanging files;
  EventLoop loop;
  Names errors;
  Names reliefs;
  DirWatcher watcher{loop,
                     {.error = [this](std::string text) { errors.push_back(std::move(text)); },
                      .relief = [this](std::string text) { reliefs.push_back(std::move(text)); },
                      .place = files.place()}};
};

}  // namespace

TEST_CASE("a watch says once that it is in force, for each who wants it, and not from within") {
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

TEST_CASE("a file that is written is told to those who want to know, whoever watched the directory before") {
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

TEST_CASE("names that do not match the pattern wake nobody") {
  const test::TempDir dir;
  Watched watched(dir.path(), "kubelet.sock");
  touch(dir.path() / ".kubelet_internal_checkpoint123");
  touch(dir.path() / "kubelet.sock");
  CHECK(watched.sees("kubelet.sock"));
  CHECK(watched.seen == Names{"kubelet.sock"});
}

TEST_CASE("a directory that appears later, several levels deep, is watched from then on") {
  const test::TempDir dir;
  Watched watched(dir.path() / "serial" / "by-id");
  fs::create_directories(dir.path() / "serial" / "by-id");
  CHECK(watched.sees(""));
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
  touch(dir.path() / "two" / "y");
  CHECK(watched.sees("y"));
}

TEST_CASE("links that lead in a circle end the way, and what replaces them is watched") {
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

TEST_CASE("two watches on one directory get their own names, and one may end in the other's callback") {
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

TEST_CASE("the kernel's watches go with the last who wants them") {
  const test::TempDir dir;
  fs::create_directories(dir.path() / "a" / "b");
  Watched watched(dir.path() / "a" / "b");
  const int with_one = kernel_watches();
  CHECK(with_one >= 3);
  bool in_force = false;
  auto other = watched.watcher.watch(dir.path() / "a", "*", [&](std::string_view) { in_force = true; });
  CHECK(test::run_until(watched.loop, [&] { return in_force; }));
  CHECK(kernel_watches() == with_one);  // each was there already
  watched.watch.reset();
  CHECK(test::run_until(watched.loop, [&] { return kernel_watches() == with_one - 1; }));
  touch(dir.path() / "a" / "x");
  in_force = false;
  CHECK(test::run_until(watched.loop, [&] { return in_force; }));
  other.reset();
  CHECK(test::run_until(watched.loop, [&] { return kernel_watches() == 0; }));
}

TEST_CASE(
    "a file system that does not answer holds its own path alone, says so once, and comes back by itself") {
  const test::TempDir dir;
  dir.directory("dead");
  dir.directory("well");
  Hung hung;
  hung.files.hang_at(dir.at("dead"));
  Names dead;
  Names well;
  Names late;
  const auto first = hung.watch(dir.at("dead"), dead);
  const auto second = hung.watch(dir.at("well"), well);
  CHECK(hung.until([&] { return !well.empty(); }));
  touch(dir.at("well/x"));
  CHECK(hung.until([&] { return well.size() > 1; }));
  REQUIRE(hung.until([&] { return !hung.errors.empty(); }));
  CHECK(hung.errors ==
        Names{"the file system at " + dir.at("dead").string() + " does not answer: until it does, " +
              dir.at("dead").string() + " is not watched"});
  // Now everybody knows: others wait no more, and it is not asked again.
  hung.watcher.refresh();
  const auto third = hung.watch(dir.at("well/deeper"), late);
  CHECK(hung.until([&] { return !late.empty(); }));
  CHECK(dead.empty());
  CHECK(hung.files.looks_at(dir.at("dead")) == 1);
  CHECK(hung.errors.size() == 1);
  CHECK(hung.reliefs.empty());

  hung.files.answer();
  CHECK(hung.until([&] { return !dead.empty(); }));
  CHECK(hung.reliefs == Names{dir.at("dead").string() + " is watched again"});
  touch(dir.at("dead/x"));
  CHECK(hung.until([&] { return std::ranges::find(dead, "x") != dead.end(); }));
}

TEST_CASE("what lies behind a directory that does not answer costs no further thread") {
  const test::TempDir dir;
  dir.directory("dead");
  dir.directory("deader");
  Hung hung;
  hung.files.hang_at(dir.at("dead"));
  std::map<int, Names> seen;
  std::vector<std::unique_ptr<DirWatch>> watches;
  watches.push_back(hung.watch(dir.at("dead/0"), seen[0]));
  REQUIRE(hung.until([&] { return !hung.errors.empty(); }));
  for (int i = 1; i < 5; ++i) watches.push_back(hung.watch(dir.at("dead/" + std::to_string(i)), seen[i]));
  watches.push_back(hung.watch(dir.at("deader"), seen[5]));  // which only begins alike
  CHECK(hung.until([&] { return !seen[5].empty(); }));
  CHECK(hung.files.looks() == 2);
  watches[1].reset();  // one that waits may go
  hung.files.answer();
  CHECK(hung.until([&] {
    return std::ranges::all_of(std::vector{0, 2, 3, 4}, [&](int i) { return !seen[i].empty(); });
  }));
  CHECK(seen[1].empty());
}

TEST_CASE("a watch that goes while its file system hangs leaves nothing behind") {
  const test::TempDir dir;
  dir.directory("dead");
  Hung hung;
  hung.files.hang_at(dir.at("dead"));
  Names dead;
  Names again;
  auto watch = hung.watch(dir.at("dead"), dead);
  SUBCASE("before that is noticed") {}
  SUBCASE("after that was noticed") {
    REQUIRE(hung.until([&] { return !hung.errors.empty(); }));
  }
  watch.reset();
  auto anew = hung.watch(dir.at("dead"), again);
  hung.files.answer();
  CHECK(hung.until([&] { return !again.empty(); }));
  CHECK(dead.empty());
  anew.reset();
  CHECK(hung.until([&] { return kernel_watches() == 0; }));
}

TEST_CASE("what happens on the way while a path is looked at has it looked at again") {
  const test::TempDir dir;
  dir.directory("slow");
  dir.directory("other");
  Hung hung;
  Names seen;
  const auto watch = hung.watch(dir.at("slow/later"), seen);
  REQUIRE(hung.until([&] { return !seen.empty(); }));
  // The next look gets no further than this, while the event is read.
  hung.files.hang_at(dir.at("slow/later"));
  hung.watcher.refresh();
  REQUIRE(hung.until([&] { return hung.files.looks_at(dir.at("slow/later")) == 2; }));
  fs::rename(dir.at("slow"), dir.at("gone"));
  fs::rename(dir.at("other"), dir.at("slow"));
  test::run_once(hung.loop);
  hung.files.answer();
  CHECK(hung.until([&] { return hung.files.looks_at(dir.at("slow/later")) >= 3; }));
  fs::create_directory(dir.at("slow/later"));
  CHECK(hung.until([&] {
    touch(dir.at("slow/later/x"));
    fs::remove(dir.at("slow/later/x"));
    return std::ranges::find(seen, "x") != seen.end();
  }));
}

TEST_CASE(
    "many directories: each is looked at once, those in one directory share the look, and all are let go") {
  constexpr int kDirectories = 1500;
  const test::TempDir dir;
  Hung hung;
  int in_force = 0;
  std::vector<std::unique_ptr<DirWatch>> watches;
  for (int i = 0; i < kDirectories; ++i) {
    const fs::path path = dir.at(std::to_string(i));
    fs::create_directory(path);
    for (const char* pattern : {"a*", "b*"})
      watches.push_back(hung.watcher.watch(path, pattern, [&](std::string_view) { ++in_force; }));
  }
  CHECK(hung.until([&] { return in_force == 2 * kDirectories; }));
  CHECK(hung.files.looks() == kDirectories);
  CHECK(kernel_watches() >= kDirectories);
  hung.watcher.refresh();
  hung.watcher.refresh();
  CHECK(hung.until([&] { return hung.files.looks() == 2 * kDirectories; }));
  touch(dir.at("0/b"));
  CHECK(hung.until([&] { return in_force > 2 * kDirectories; }));
  CHECK(in_force == 2 * kDirectories + 1);
  CHECK(hung.files.looks() == 2 * kDirectories);
  watches.clear();
  CHECK(hung.until([&] { return kernel_watches() == 0; }));
  CHECK(hung.errors.empty());
}

TEST_CASE("without an inotify instance it polls, names the limit once, and watches as soon as there is one") {
  const test::TempDir dir;
  rlimit before{};
  check(::getrlimit(RLIMIT_NOFILE, &before), "getrlimit");
  EventLoop loop;
  Names errors;
  Names reliefs;
  Names seen;
  const auto watcher = [&] {
    // To be out of descriptors looks like being out of instances.
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
                        "fs.inotify.max_user_instances; until then they are looked at now and then"});
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

TEST_CASE("a path for which the kernel has no watch is polled, and watched as soon as it has one") {
  const test::TempDir dir;
  dir.directory("poor");
  dir.directory("rich");
  EventLoop loop;
  std::atomic<bool> starving = true;
  Names errors;
  Names reliefs;
  DirWatcher watcher(loop, {.error = [&](std::string text) { errors.push_back(std::move(text)); },
                            .relief = [&](std::string text) { reliefs.push_back(std::move(text)); },
                            .retry = 20ms,
                            .place =
                                [&](Inotify& inotify, Inotify::Owner owner, const fs::path& path,
                                    WatchFor what, const AtPath& at) {
                                  if (path.filename() != "poor" || !starving)
                                    return place_watches(inotify, owner, path, what, at);
                                  return WatchPlacement{
                                      .interests = {},
                                      .starved = std::make_error_code(std::errc::no_space_on_device)};
                                }});
  Names poor;
  Names rich;
  auto first = watcher.watch(dir.at("poor"), "*", [&](std::string_view name) { poor.emplace_back(name); });
  const auto second =
      watcher.watch(dir.at("rich"), "*", [&](std::string_view name) { rich.emplace_back(name); });
  CHECK(test::run_until(loop, [&] { return poor == Names{"", "", ""}; }));
  CHECK(rich == Names{""});
  CHECK(errors == Names{"too many inotify watches for fs.inotify.max_user_watches: raise it; until then " +
                        dir.at("poor").string() + " is looked at only now and then"});
  CHECK(reliefs.empty());
  SUBCASE("there is one") {
    starving = false;
    CHECK(test::run_until(loop, [&] { return !reliefs.empty(); }));
    poor.clear();
    touch(dir.at("poor/x"));
    CHECK(test::run_until(loop, [&] { return std::ranges::find(poor, "x") != poor.end(); }));
  }
  SUBCASE("nobody wants it any more") { first.reset(); }
  CHECK(reliefs == Names{"every directory is watched again"});
  CHECK(errors.size() == 1);
}

TEST_CASE("a directory that comes as its coming begins to be watched is not missed") {
  const test::TempDir dir;
  EventLoop loop;
  int at_parent = 0;  // when it is reached, for the way on, and again because there is none
  DirWatcher watcher(loop, {.error = fail,
                            .place = [&](Inotify& inotify, Inotify::Owner owner, const fs::path& path,
                                         WatchFor what, const AtPath& at) {
                              return place_watches(inotify, owner, path, what, [&](const fs::path& step) {
                                at(step);
                                if (step == dir.path() && ++at_parent == 3) dir.directory("late");
                              });
                            }});
  Names seen;
  const auto watch =
      watcher.watch(dir.at("late"), "*", [&](std::string_view name) { seen.emplace_back(name); });
  REQUIRE(test::run_until(loop, [&] { return seen == Names{""}; }));
  touch(dir.at("late/x"));
  CHECK(test::run_until(loop, [&] { return std::ranges::find(seen, "x") != seen.end(); }));
}
