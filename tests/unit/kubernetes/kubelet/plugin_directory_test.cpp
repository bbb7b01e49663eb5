#include "kubernetes/kubelet/plugin_directory.hpp"

#include <doctest/doctest.h>

#include "base/system/unix_socket.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
namespace fs = std::filesystem;

TEST_CASE("only sockets of a killed plughost are removed") {
  const test::TempDir dir;
  for (const char* name : {"plughost-dead.sock", "other-dead.sock"})
    const UniqueFd gone = listen_unix(dir.path() / name);
  const UniqueFd listening = listen_unix(dir.path() / "plughost-alive.sock");
  dir.file("plughost-file");
  dir.directory("plughost-directory");
  dir.link("plughost-link", "other-dead.sock");
  const PluginDirectory held(dir.path());
  CHECK_FALSE(fs::exists(dir.path() / "plughost-dead.sock"));
  for (const char* name : {"other-dead.sock", "plughost-alive.sock", "plughost-file", "plughost-directory"})
    CHECK_MESSAGE(fs::exists(dir.path() / name), name);
  CHECK(fs::is_symlink(dir.path() / "plughost-link"));
}

TEST_CASE("a directory reports when dead sockets were found in it, and ignores others' sockets") {
  const test::TempDir dir;
  { const UniqueFd gone = listen_unix(dir.path() / "other-dead.sock"); }
  const UniqueFd listening = listen_unix(dir.path() / "plughost-alive.sock");
  CHECK_FALSE(PluginDirectory(dir.path()).dead_found());
  { const UniqueFd gone = listen_unix(dir.path() / "plughost-dead.sock"); }
  const auto before = EventLoop::Clock::now();
  const PluginDirectory held(dir.path());
  REQUIRE(held.dead_found());
  CHECK(*held.dead_found() >= before);
}

TEST_CASE("a missing directory is locked and cleared when it appears") {
  const test::TempDir dir;
  PluginDirectory held(dir.path() / "later");
  CHECK_THROWS_AS(held.hold(), std::system_error);
  dir.directory("later");
  { const UniqueFd gone = listen_unix(dir.path() / "later/plughost-dead.sock"); }
  held.hold();
  CHECK(fs::is_empty(dir.path() / "later"));
}
