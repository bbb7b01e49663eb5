#include "base/system/unix_socket.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "base/system/files.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

const auto kAnybody = [](UniqueFd, const ucred&) {};
const auto kNoError = [](const std::string& what) { FAIL(what); };

}  // namespace

TEST_CASE("a connection is reported with the process and the user that connected") {
  const test::TempDir dir;
  EventLoop loop;
  std::optional<ucred> seen;
  const Listener listener(
      loop, dir.path() / "s", [&](UniqueFd, const ucred& peer) { seen = peer; }, kNoError);
  const UniqueFd client = connect_unix(dir.path() / "s");
  CHECK(test::run_until(loop, [&] { return seen.has_value(); }));
  CHECK(seen->pid == ::getpid());
  CHECK(seen->uid == ::geteuid());
}

TEST_CASE("only the owner can connect") {
  const test::TempDir dir;
  EventLoop loop;
  const Listener listener(loop, dir.path() / "s", kAnybody, kNoError);
  struct stat status {};
  REQUIRE(::stat((dir.path() / "s").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("the socket file is removed with the listener, and a newer one of the same name is not") {
  const test::TempDir dir;
  EventLoop loop;
  const auto path = dir.path() / "s";
  std::optional<Listener> first(std::in_place, loop, path, kAnybody, kNoError);
  CHECK(first->reachable());
  std::filesystem::remove(path);
  CHECK_FALSE(first->reachable());
  std::optional<Listener> second(std::in_place, loop, path, kAnybody, kNoError);
  first.reset();
  CHECK(second->reachable());
  second.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a symbolic link to the socket stays when the listener ends") {
  const test::TempDir dir;
  EventLoop loop;
  std::optional<Listener> listener(std::in_place, loop, dir.path() / "s", kAnybody, kNoError);
  std::filesystem::rename(dir.path() / "s", dir.path() / "moved");
  dir.link("s", "moved");
  listener.reset();
  CHECK(std::filesystem::is_symlink(dir.path() / "s"));
}

TEST_CASE("a path over 107 bytes is refused, and no file is created") {
  const test::TempDir dir;
  EventLoop loop;
  const auto path = dir.path() / std::string(kLongestSocketPath, 'x');
  CHECK_THROWS_AS(Listener(loop, path, kAnybody, kNoError), std::system_error);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a connection that could not be accepted is accepted later, without a new one") {
  const test::TempDir dir;
  EventLoop loop;
  int accepted = 0;
  std::vector<std::string> errors;
  const Listener listener(
      loop, dir.path() / "s", [&](UniqueFd, const ucred&) { ++accepted; },
      [&](const std::string& what) { errors.push_back(what); });
  const UniqueFd client = connect_unix(dir.path() / "s");
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const UniqueFd lowest_free(::dup(client.get()));
  const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest_free.get()), .rlim_max = usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const bool told = test::run_until(loop, [&] { return !errors.empty(); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  REQUIRE(told);
  CHECK(accepted == 0);
  CHECK(test::run_until(loop, [&] { return accepted == 1; }));
  CHECK(errors == std::vector<std::string>{"connections cannot be accepted, and wait: Too many open files"});
}

TEST_CASE("a socket's name is short, readable and different for each resource and incarnation") {
  const std::string longest(253, 'a');
  CHECK(socket_name(longest + "/x", 4294967295u).size() <= 60);
  CHECK(socket_name("example.com/gpu", 7).starts_with("plughost-example.com_gpu-"));
  CHECK(socket_name("example.com/gpu", 7) != socket_name("example.com/gpu", 8));
  CHECK(socket_name("example.com/a_b", 7) != socket_name("example.com/a/b", 7));
}
