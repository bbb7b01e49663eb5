#include "kubelet/plugin_directory_clearing.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <set>

#include "base/system/unique_fd.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using test::TempDir;

namespace {

namespace fs = std::filesystem;

void make_socket(const fs::path& path) {
  const UniqueFd fd{check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  check(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
}

void fill(const TempDir& directory) {
  make_socket(directory.at("plugin.sock"));
  make_socket(directory.at("kubelet.sock"));
  directory.link("link-to-socket", "plugin.sock");
  directory.file("kubelet_internal_checkpoint", "{}");
  directory.file("notes");
  directory.link("link-to-file", "notes");
  directory.link("link-to-nowhere", "missing");
  directory.directory("below");
  make_socket(directory.at("below/deep.sock"));
}

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

}  // namespace

TEST_CASE(
    "a 1.36 kubelet removes the sockets directly in its directory, and leaves other files and directories") {
  const TempDir directory;
  fill(directory);
  make_clear_directory(directory.path(), StandInKubelet::Clearing::kSockets);
  const auto names = names_in(directory.path());
  CHECK_FALSE(names.contains("plugin.sock"));
  CHECK_FALSE(names.contains("kubelet.sock"));
  CHECK(names.contains("notes"));
  CHECK(names.contains("link-to-file"));
  CHECK(names.contains("kubelet_internal_checkpoint"));
  CHECK(fs::exists(directory.at("below/deep.sock")));
}

TEST_CASE("a 1.36 kubelet also removes a link to a socket in its directory") {
  const TempDir directory;
  fill(directory);
  make_clear_directory(directory.path(), StandInKubelet::Clearing::kSockets);
  CHECK_FALSE(fs::is_symlink(directory.at("link-to-socket")));
}

TEST_CASE("a 1.32 kubelet leaves directories, the checkpoint, and dangling links") {
  const TempDir directory;
  fill(directory);
  make_clear_directory(directory.path(), StandInKubelet::Clearing::kEverything);
  CHECK(names_in(directory.path()) ==
        std::set<std::string>{"below", "kubelet_internal_checkpoint", "link-to-nowhere"});
}

TEST_CASE("a missing directory is made, writable for its owner and readable for its group") {
  const TempDir directory;
  make_clear_directory(directory.at("a/device-plugins"), StandInKubelet::Clearing::kSockets);
  CHECK((fs::status(directory.at("a/device-plugins")).permissions() & fs::perms::all) ==
        static_cast<fs::perms>(0750));
}
