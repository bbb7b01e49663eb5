#include "base/system/unix_socket.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit/temp_dir.hpp"

using namespace plughost;
namespace fs = std::filesystem;

namespace {

struct Place {
  test::TempDir dir;
  fs::path path = dir.path() / "control.sock";

  void leave_dead() const { const UniqueFd gone = listen_unix(path); }
  std::string why_not() const {
    try {
      if (const auto dead = dead_socket(path)) remove_dead_socket(path, *dead);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()));
  }
  std::string is(const std::string& what) const {
    return path.string() + " is " + what +
           ", and only an unused socket is replaced: move it away, or name a different path";
  }
};

}  // namespace

TEST_CASE("a missing socket file needs no removal") {
  const Place place;
  CHECK_FALSE(dead_socket(place.path).has_value());
}

TEST_CASE("a socket without a listener is removed") {
  const Place place;
  place.leave_dead();
  CHECK(place.why_not().empty());
  CHECK(place.files() == 0);
}

TEST_CASE("a bound socket without a listener is removed, also if its path has the longest possible length") {
  Place place;
  place.path = place.dir.path() / std::string(104 - place.dir.path().native().size(), 'd');
  fs::create_directory(place.path);
  place.path /= "s";
  REQUIRE(place.path.native().size() == 107);
  place.leave_dead();
  CHECK(place.why_not().empty());
  CHECK_FALSE(fs::exists(place.path));
}

TEST_CASE("a socket with a listener is not removed") {
  const Place place;
  const UniqueFd listening = listen_unix(place.path);
  CHECK(place.why_not() == "another plughost answers on " + place.path.string());
  CHECK_NOTHROW(connect_unix(place.path));
}

TEST_CASE("a socket whose connection queue is full is not removed") {
  const Place place;
  const UniqueFd listening = listen_unix(place.path);
  REQUIRE(::listen(listening.get(), 0) == 0);
  std::vector<UniqueFd> waiting;
  CHECK_THROWS_AS(([&] {
                    for (;;) waiting.push_back(connect_unix(place.path));
                  }()),
                  std::system_error);
  CHECK(place.why_not() == "another plughost answers on " + place.path.string());
}

TEST_CASE("a datagram socket that is in use is not removed") {
  const Place place;
  const UniqueFd datagrams(check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  place.path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(datagrams.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK_FALSE(place.why_not().empty());
  CHECK(fs::is_socket(place.path));
}

TEST_CASE("a file, a directory and a FIFO are not removed, and the error names the file type") {
  const Place place;
  SUBCASE("file") {
    place.dir.file("control.sock", "precious");
    CHECK(place.why_not() == place.is("a regular file"));
    CHECK(fs::file_size(place.path) == 8);
  }
  SUBCASE("directory") {
    place.dir.directory("control.sock");
    CHECK(place.why_not() == place.is("a directory"));
    CHECK(fs::is_directory(place.path));
  }
  SUBCASE("FIFO") {
    REQUIRE(::mkfifo(place.path.c_str(), 0600) == 0);
    CHECK(place.why_not() == place.is("a FIFO"));
    CHECK(fs::is_fifo(place.path));
  }
  CHECK(place.files() == 1);
}

TEST_CASE("a symbolic link is not removed, whatever its target is") {
  const Place place;
  std::string target = "nowhere";
  SUBCASE("that leads to nothing") {}
  SUBCASE("that leads to a socket without a listener") {
    target = "other.sock";
    const UniqueFd gone = listen_unix(place.dir.path() / target);
  }
  place.dir.link("control.sock", target);
  CHECK(place.why_not() == place.is("a symbolic link"));
  CHECK(fs::is_symlink(place.path));
  CHECK(fs::exists(fs::symlink_status(place.dir.path() / "other.sock")) == (target == "other.sock"));
}

TEST_CASE("a different socket with a listener, created at the path after the check, is not removed") {
  const Place place;
  place.leave_dead();
  const DeadSocket dead = dead_socket(place.path).value();
  fs::rename(place.path, place.dir.path() / "old");  // keeps the inode number from being reused
  const UniqueFd other = listen_unix(place.path);
  CHECK_THROWS_WITH_AS(remove_dead_socket(place.path, dead),
                       ("another plughost answers on " + place.path.string()).c_str(), std::runtime_error);
  CHECK_NOTHROW(connect_unix(place.path));
  CHECK(place.files() == 2);
}

TEST_CASE("a directory that is created at the path after the check is not removed") {
  const Place place;
  place.leave_dead();
  const DeadSocket dead = dead_socket(place.path).value();
  fs::rename(place.path, place.dir.path() / "old");
  place.dir.file("control.sock/inside", "precious");
  CHECK_THROWS_WITH_AS(remove_dead_socket(place.path, dead), place.is("a directory").c_str(),
                       std::runtime_error);
  CHECK(fs::exists(place.path / "inside"));
  CHECK(place.files() == 2);
}

TEST_CASE("a socket that gets a listener after the check is not removed") {
  const Place place;
  UniqueFd socket(check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  place.path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  const DeadSocket dead = dead_socket(place.path).value();
  REQUIRE(::listen(socket.get(), 1) == 0);
  CHECK_THROWS_AS(remove_dead_socket(place.path, dead), std::runtime_error);
  CHECK_NOTHROW(connect_unix(place.path));
  CHECK(place.files() == 1);
}

TEST_CASE("a socket that vanishes after the check is reported as an error") {
  const Place place;
  place.leave_dead();
  const DeadSocket dead = dead_socket(place.path).value();
  fs::remove(place.path);
  CHECK_THROWS_AS(remove_dead_socket(place.path, dead), std::system_error);
}
