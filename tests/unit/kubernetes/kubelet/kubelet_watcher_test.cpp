#include "kubernetes/kubelet/plugin_directory.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <optional>

#include "base/system/unix_socket.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
namespace fs = std::filesystem;

namespace {

struct Fixture {
  test::TempDir dir;
  EventLoop loop;
  DirWatcher watcher{loop, [](const std::string& error) { FAIL(error); }};
  fs::path kubelet = dir.path() / "kubelet.sock";
  int changes = 0;
  int own = 0;
};

}  // namespace

TEST_CASE("a kubelet is noticed when it starts, ends, and is replaced") {
  Fixture f;
  KubeletWatcher watcher(
      f.watcher, f.kubelet, [&] { ++f.changes; }, f.dir.path(), [&] { ++f.own; });
  CHECK_FALSE(watcher.current());

  UniqueFd first = listen_unix(f.kubelet);
  CHECK(test::run_until(f.loop, [&] { return watcher.current().has_value(); }));
  const auto before = watcher.current();
  fs::remove(f.kubelet);
  first = UniqueFd();
  const UniqueFd second = listen_unix(f.kubelet);
  CHECK(test::run_until(f.loop, [&] { return watcher.current() && watcher.current() != before; }));
  fs::remove(f.kubelet);
  CHECK(test::run_until(f.loop, [&] { return !watcher.current(); }));
}

TEST_CASE("other files and late events change nothing") {
  Fixture f;
  const UniqueFd kubelet = listen_unix(f.kubelet);
  KubeletWatcher watcher(
      f.watcher, f.kubelet, [&] { ++f.changes; }, f.dir.path(), [&] { ++f.own; });
  REQUIRE(test::run_until(f.loop, [&] { return f.own == 1; }));  // by now the watch is active
  f.dir.file("kubelet_internal_checkpoint");
  fs::rename(f.dir.at("kubelet_internal_checkpoint"), f.dir.at("other"));
  test::run_once(f.loop);
  watcher.check();  // as an event would that arrives late
  CHECK(f.changes == 0);
  CHECK(f.own == 1);
}

TEST_CASE("the removal of an own socket is reported") {
  Fixture f;
  f.dir.file("plughost-x-1.sock");
  KubeletWatcher watcher(
      f.watcher, f.kubelet, [&] { ++f.changes; }, f.dir.path(), [&] { ++f.own; });
  REQUIRE(test::run_until(f.loop, [&] { return f.own == 1; }));  // by now the watch is active
  f.dir.remove("plughost-x-1.sock");
  CHECK(test::run_until(f.loop, [&] { return f.own > 1; }));
  CHECK(f.changes == 0);
}

TEST_CASE("a regular file with the kubelet's name is not a kubelet") {
  Fixture f;
  f.dir.file("kubelet.sock");
  KubeletWatcher watcher(
      f.watcher, f.kubelet, [&] { ++f.changes; }, f.dir.path(), [&] { ++f.own; });
  CHECK_FALSE(watcher.current());
}
