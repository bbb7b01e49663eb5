#include "kubelet/listener.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "kubelet/socket_name.hpp"
#include "kubelet/unix_socket.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

const auto kAnybody = [](UniqueFd, const ucred&) {};
const auto kNoTrouble = [](const std::string& what) { FAIL(what); };

}  // namespace

TEST_CASE("whoever connects is handed over with its process and user") {
  const test::TempDir dir;
  EventLoop loop;
  std::optional<ucred> seen;
  const Listener listener(
      loop, dir.path() / "s", [&](UniqueFd, const ucred& peer) { seen = peer; }, kNoTrouble);
  const UniqueFd client = connect_unix(dir.path() / "s");
  CHECK(test::run_until(loop, [&] { return seen.has_value(); }));
  CHECK(seen->pid == ::getpid());
  CHECK(seen->uid == ::geteuid());
}

TEST_CASE("only the owner may connect") {
  const test::TempDir dir;
  EventLoop loop;
  const Listener listener(loop, dir.path() / "s", kAnybody, kNoTrouble);
  struct stat status {};
  REQUIRE(::stat((dir.path() / "s").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("the file goes with the listener, but not a newer one of the same name") {
  const test::TempDir dir;
  EventLoop loop;
  const auto path = dir.path() / "s";
  std::optional<Listener> first(std::in_place, loop, path, kAnybody, kNoTrouble);
  CHECK(first->reachable());
  std::filesystem::remove(path);
  CHECK_FALSE(first->reachable());
  std::optional<Listener> second(std::in_place, loop, path, kAnybody, kNoTrouble);
  first.reset();
  CHECK(second->reachable());
  second.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a path over 107 bytes is refused before anything is tried") {
  const test::TempDir dir;
  EventLoop loop;
  const auto path = dir.path() / std::string(kLongestSocketPath, 'x');
  CHECK_THROWS_AS(Listener(loop, path, kAnybody, kNoTrouble), std::system_error);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a socket's name is short, readable and another for each resource and each incarnation") {
  const std::string longest(253, 'a');
  CHECK(socket_name(longest + "/x", 4294967295u).size() <= 60);
  CHECK(socket_name("example.com/gpu", 7).starts_with("plughost-example.com_gpu-"));
  CHECK(socket_name("example.com/gpu", 7) != socket_name("example.com/gpu", 8));
  CHECK(socket_name("example.com/a_b", 7) != socket_name("example.com/a/b", 7));
}
