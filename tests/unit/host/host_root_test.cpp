#include "host/host_root.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using Paths = std::vector<std::string>;
using Watch = std::vector<WatchedDirectory>;

TEST_CASE("paths of the machine lie under the prefix") {
  CHECK(HostRoot("/made").at("/dev/null") == "/made/dev/null");
  CHECK(HostRoot().at("/dev/null") == "/dev/null");
}

TEST_CASE("a pattern matches names in order, dots and odd bytes included") {
  const test::TempDir tree;
  for (const char* name : {"ttyUSB1", "ttyUSB0", ".ttyUSB", "tty\nUSB\xFF", "sda"})
    tree.file(std::string("dev/") + name);
  const HostRoot host(tree.path());
  CHECK(host.glob("/dev/*tty*").paths ==
        Paths{"/dev/.ttyUSB", "/dev/tty\nUSB\xFF", "/dev/ttyUSB0", "/dev/ttyUSB1"});
  CHECK(host.glob("/dev/ttyUSB[1-9]").paths == Paths{"/dev/ttyUSB1"});
  CHECK(host.glob("/dev/ttyUSB?").watch == Watch{{"/dev", "ttyUSB?"}});
}

TEST_CASE("any component may be a pattern") {
  const test::TempDir tree;
  tree.file("sys/class/net/eth0/device/id");
  tree.file("sys/class/net/eth1/device/id");
  tree.directory("sys/class/net/lo");
  tree.file("sys/class/net/bonding_masters");
  const HostRoot::Match match = HostRoot(tree.path()).glob("/sys/class/net/*/device/i*");
  CHECK(match.paths == Paths{"/sys/class/net/eth0/device/id", "/sys/class/net/eth1/device/id"});
  CHECK(match.watch == Watch{{"/sys/class/net", "*"},
                             {"/sys/class/net/eth0/device", "i*"},
                             {"/sys/class/net/eth1/device", "i*"},
                             {"/sys/class/net/lo/device", "i*"}});
  CHECK(HostRoot(tree.path()).glob("/sys/class/net/eth*/device").paths ==
        Paths{"/sys/class/net/eth0/device", "/sys/class/net/eth1/device"});
}

TEST_CASE("of a thousand directories each is watched, and of more the rest is named in a remark") {
  const test::TempDir tree;
  const auto number = [](std::size_t n) { return std::to_string(10'000 + n); };
  for (std::size_t n = 1; n < HostRoot::kMostWatched; ++n) tree.file("d/" + number(n) + "/x");
  const HostRoot host(tree.path());
  HostRoot::Match match = host.glob("/d/*/x");
  CHECK(match.paths.size() == HostRoot::kMostWatched - 1);
  CHECK(match.watch.size() == HostRoot::kMostWatched);
  CHECK(match.remarks.empty());
  tree.file("d/" + number(HostRoot::kMostWatched) + "/x");
  match = host.glob("/d/*/x");
  CHECK(match.paths.size() == HostRoot::kMostWatched);
  CHECK(match.watch.size() == HostRoot::kMostWatched);
  CHECK(match.watch.back() ==
        WatchedDirectory{.path = "/d/" + number(HostRoot::kMostWatched - 1), .name = "x"});
  CHECK(match.remarks ==
        Paths{"/d/*/x leads through more than 1000 directories; changes in the others are seen late"});
}

TEST_CASE("many names in one directory are one directory to watch") {
  const test::TempDir tree;
  for (std::size_t n = 0; n <= HostRoot::kMostWatched; ++n)
    tree.link("links/" + std::to_string(n), "../targets/" + std::to_string(n));
  const HostRoot::Match match = HostRoot(tree.path()).glob("/links/*");
  CHECK(match.watch.size() == HostRoot::kMostWatched + 2);
  CHECK(match.remarks.empty());
}

TEST_CASE("a look ends with its fifty-thousandth directory, and says so") {
  const test::TempDir tree;
  const auto name = [](std::size_t n) { return "d/" + std::to_string(100'000 + n); };
  for (std::size_t n = 1; n < HostRoot::kMostDirectories; ++n) tree.directory(name(n));
  tree.file(name(HostRoot::kMostDirectories - 1) + "/x");
  const HostRoot host(tree.path());
  const std::string late =
      "/d/*/x leads through more than 1000 directories; changes in the others are seen late";
  HostRoot::Match match = host.glob("/d/*/x");
  CHECK(match.paths.size() == 1);
  CHECK(match.remarks == Paths{late});
  tree.file(name(HostRoot::kMostDirectories) + "/x");
  match = host.glob("/d/*/x");
  CHECK(match.paths == Paths{'/' + name(HostRoot::kMostDirectories - 1) + "/x"});
  CHECK(match.remarks == Paths{"/d/*/x leads through more than 50000 directories: what lies in the others is "
                               "left out; replace wildcards by names",
                               late});
}

TEST_CASE("a look through links that lead in a circle ends") {
  const test::TempDir tree;
  for (const char* name : {"a", "b", "c"}) tree.link(std::string("d/") + name, ".");
  const HostRoot::Match match = HostRoot(tree.path()).glob("/d/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/x");
  CHECK(match.paths.empty());
  CHECK(match.remarks.size() == 2);
}

TEST_CASE("a directory that does not exist yet is watched") {
  const test::TempDir tree;
  const HostRoot::Match match = HostRoot(tree.path()).glob("/dev/serial/by-id/*");
  CHECK(match.paths.empty());
  CHECK(match.watch == Watch{{"/dev/serial/by-id", "*"}});
}

TEST_CASE("a path without a wildcard is that path, watched by its name") {
  const test::TempDir tree;
  tree.file("dev/kvm");
  tree.file("dev/by\\x20label");
  const HostRoot host(tree.path());
  CHECK(host.glob("/dev/kvm").paths == Paths{"/dev/kvm"});
  CHECK(host.glob("/dev/kvm").watch == Watch{{"/dev", "kvm"}});
  CHECK(host.glob("/dev/fuse").paths.empty());
  CHECK(host.glob("/dev/by\\x20label").paths == Paths{"/dev/by\\x20label"});
  CHECK(host.glob("/dev/by\\x20label").watch == Watch{{"/dev", "by\\\\x20label"}});
  CHECK(host.glob("/dev").watch == Watch{{"/", "dev"}});
}

TEST_CASE("a directory above that cannot be listed does not matter for literal components") {
  const test::TempDir tree;
  tree.file("closed/open/x");
  std::filesystem::permissions(tree.at("closed"), std::filesystem::perms::owner_exec);
  CHECK(HostRoot(tree.path()).glob("/closed/open/*").paths == Paths{"/closed/open/x"});
  std::filesystem::permissions(tree.at("closed"), std::filesystem::perms::owner_all);
}

TEST_CASE("where a link leads is watched") {
  const test::TempDir tree;
  tree.file("dev/ttyUSB0");
  tree.link("dev/modem", "ttyUSB0");
  tree.link("dev/serial/by-id/usb-A", "../../modem");
  const HostRoot host(tree.path());
  const HostRoot::Match match = host.glob("/dev/serial/by-id/*");
  CHECK(match.paths == Paths{"/dev/serial/by-id/usb-A"});
  CHECK(match.watch == Watch{{"/dev", "modem"}, {"/dev", "ttyUSB0"}, {"/dev/serial/by-id", "*"}});
  CHECK(host.glob("/dev/serial/by-id/usb-A").watch ==
        Watch{{"/dev", "modem"}, {"/dev", "ttyUSB0"}, {"/dev/serial/by-id", "usb-A"}});
}

TEST_CASE("a dangling link is no match, but where it leads is watched") {
  const test::TempDir tree;
  tree.link("dev/disk/by-id/x", "../../s*a");
  const HostRoot host(tree.path());
  for (const char* pattern : {"/dev/disk/by-id/*", "/dev/disk/by-id/x"}) {
    const HostRoot::Match match = host.glob(pattern);
    CHECK(match.paths.empty());
    CHECK(match.watch.front() == WatchedDirectory{"/dev", "s\\*a"});
  }
}

TEST_CASE("links in a circle end") {
  const test::TempDir tree;
  tree.link("dev/a", "b");
  tree.link("dev/b", "a");
  const HostRoot::Match match = HostRoot(tree.path()).glob("/dev/*");
  CHECK(match.paths.empty());
  CHECK(match.watch == Watch{{"/dev", "*"}, {"/dev", "a"}, {"/dev", "b"}});
}

}  // namespace
}  // namespace plughost
