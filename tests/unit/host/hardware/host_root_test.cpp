#include "host/hardware/host_root.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "unit/host/hardware/recorded.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using Paths = std::vector<std::string>;
using Watch = std::vector<WatchedDirectory>;

TEST_CASE("paths are below the prefix") {
  CHECK(HostRoot("/made").at("/dev/null") == "/made/dev/null");
  CHECK(HostRoot().at("/dev/null") == "/dev/null");
}

TEST_CASE("a pattern matches names in sorted order, including names with dots and bytes that are not text") {
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

TEST_CASE("a thousand directories are watched, and a remark names the rest") {
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

TEST_CASE("many watched names in one directory count as one directory for the limit") {
  const test::TempDir tree;
  for (std::size_t n = 0; n <= HostRoot::kMostWatched; ++n)
    tree.link("links/" + std::to_string(n), "../targets/" + std::to_string(n));
  const HostRoot::Match match = HostRoot(tree.path()).glob("/links/*");
  CHECK(match.watch.size() == HostRoot::kMostWatched + 2);
  CHECK(match.remarks.empty());
}

TEST_CASE(
    "a pattern is searched in at most 50,000 directories, and a remark says that the rest is left out") {
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
  CHECK(match.remarks == Paths{"/d/*/x leads through more than 50000 directories: the rest is left out; "
                               "replace wildcards by names",
                               late});
}

TEST_CASE("the search for a pattern through circular links ends") {
  const test::TempDir tree;
  for (const char* name : {"a", "b", "c"}) tree.link(std::string("d/") + name, ".");
  const HostRoot::Match match = HostRoot(tree.path()).glob("/d/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/x");
  CHECK(match.paths.empty());
  CHECK(match.remarks.size() == 2);
}

TEST_CASE("a missing directory is watched") {
  const test::TempDir tree;
  const HostRoot::Match match = HostRoot(tree.path()).glob("/dev/serial/by-id/*");
  CHECK(match.paths.empty());
  CHECK(match.watch == Watch{{"/dev/serial/by-id", "*"}});
}

TEST_CASE("a path without a wildcard matches only itself, and is watched by its name") {
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

TEST_CASE("a directory that cannot be listed is no obstacle if the next component is not a pattern") {
  const test::TempDir tree;
  tree.file("closed/open/x");
  std::filesystem::permissions(tree.at("closed"), std::filesystem::perms::owner_exec);
  CHECK(HostRoot(tree.path()).glob("/closed/open/*").paths == Paths{"/closed/open/x"});
  std::filesystem::permissions(tree.at("closed"), std::filesystem::perms::owner_all);
}

TEST_CASE("the targets of a matching link are watched") {
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

TEST_CASE("a dangling link is no match, but its target is watched") {
  const test::TempDir tree;
  tree.link("dev/disk/by-id/x", "../../s*a");
  const HostRoot host(tree.path());
  for (const char* pattern : {"/dev/disk/by-id/*", "/dev/disk/by-id/x"}) {
    const HostRoot::Match match = host.glob(pattern);
    CHECK(match.paths.empty());
    CHECK(match.watch.front() == WatchedDirectory{"/dev", "s\\*a"});
  }
}

TEST_CASE("circular links do not match, and resolving them ends") {
  const test::TempDir tree;
  tree.link("dev/a", "b");
  tree.link("dev/b", "a");
  const HostRoot::Match match = HostRoot(tree.path()).glob("/dev/*");
  CHECK(match.paths.empty());
  CHECK(match.watch == Watch{{"/dev", "*"}, {"/dev", "a"}, {"/dev", "b"}});
}

// A directory tree with regular files, directories and links of several forms.
struct MadeTree {
  MadeTree() {
    made.file("sys/devices/pci/0000:00:01.0/vendor", "0x8086\n");
    made.file("sys/devices/pci/0000:00:02.0/vendor", "0x10de\n");
    made.link("sys/bus/pci/devices/0000:00:01.0", "../../../devices/pci/0000:00:01.0");
    made.link("sys/bus/pci/devices/0000:00:02.0", "../../../devices/pci/0000:00:02.0");
    made.file("sys/bus/pci/uevent");
    made.file("dev/ttyUSB0");
    made.file("dev/ttyUSB1");
    made.file("dev/.ttyUSB");
    made.link("dev/modem", "ttyUSB0");
    made.link("dev/serial/by-id/usb-A", "../../modem");
    made.link("dev/gone", "ttyUSB9");
    made.link("dev/a", "b");
    made.link("dev/b", "a");
    made.link("dev/up", "..");
    made.directory("empty");
  }
  test::TempDir made;
};

TEST_CASE("a pattern finds the same on a recorded machine as on the machine itself") {
  const MadeTree tree;
  const HostRoot real(tree.made.path());
  const HostRoot recorded = test::recorded(tree.made);
  for (const char* pattern :
       {"/dev/*", "/dev/ttyUSB[0-9]", "/dev/ttyUSB0", "/dev/gone", "/dev/modem", "/dev/serial/by-id/*",
        "/dev/up/dev/tty*", "/dev/u*/dev/modem", "/dev/a", "/dev/*/x", "/sys/bus/*/devices/*/vendor",
        "/sys/bus/pci/devices/*", "/sys/bus/pci/*", "/sys/bus/pci/uevent/x", "/none/*", "/empty/*", "/*", "/",
        "/dev/ttyUSB0/*"}) {
    CAPTURE(pattern);
    const HostRoot::Match expected = real.glob(pattern);
    const HostRoot::Match found = recorded.glob(pattern);
    CHECK(found.paths == expected.paths);
    CHECK(found.watch == expected.watch);
    CHECK(found.remarks == expected.remarks);
  }
  CHECK(recorded.glob("/sys/bus/*/devices/*/vendor").paths.size() == 2);
}

TEST_CASE(
    "type, text, links, device number and entries of a path are the same on a recorded machine as in the "
    "real tree") {
  const MadeTree tree;
  const HostRoot real(tree.made.path());
  const HostRoot recorded = test::recorded(tree.made);
  using Entries = std::map<std::string, FileType>;
  const auto entries = [](const HostRoot& host, const std::string& path) {
    Entries found;
    const std::error_code failed =
        host.list(path, [&](std::string_view name, FileType type) { found.emplace(name, type); });
    return std::pair(found, failed.message());
  };
  for (const char* path : {"/", "/dev", "/dev/", "/dev/ttyUSB0", "/dev/modem", "/dev/serial/by-id/usb-A",
                           "/dev/gone", "/dev/a", "/dev/up", "/dev/up/dev/modem", "/dev/ttyUSB0/x", "/none",
                           "/none/x", "/sys/bus/pci/devices/0000:00:01.0", "/sys/bus/pci/devices",
                           "/sys/bus/pci/devices/0000:00:01.0/vendor", "/empty", "/empty/../dev"}) {
    CAPTURE(path);
    CHECK(recorded.type(path) == real.type(path));
    CHECK(recorded.own_type(path) == real.own_type(path));
    CHECK(recorded.exists(path) == real.exists(path));
    CHECK(recorded.text(path) == real.text(path));
    CHECK(recorded.link_target(path) == real.link_target(path));
    CHECK(recorded.canonical(path) == real.canonical(path));
    CHECK(recorded.device_number(path) == real.device_number(path));
    CHECK(entries(recorded, path) == entries(real, path));
  }
  CHECK(real.text("/sys/bus/pci/devices/0000:00:02.0/vendor") == "0x10de\n");
  CHECK(real.canonical("/dev/serial/by-id/usb-A") == "/dev/ttyUSB0");
  CHECK(real.own_type("/dev/gone") == FileType::kLink);
  CHECK(entries(real, "/dev/serial").first == Entries{{"by-id", FileType::kDirectory}});
}

TEST_CASE("each type of file is reported") {
  test::TempDir made;
  made.file("regular");
  made.directory("directory");
  made.link("link", "regular");
  REQUIRE(::mkfifo(made.at("fifo").c_str(), 0600) == 0);
  const HostRoot host(made.path());
  CHECK(host.own_type("/regular") == FileType::kRegular);
  CHECK(host.own_type("/directory") == FileType::kDirectory);
  CHECK(host.own_type("/link") == FileType::kLink);
  CHECK(host.own_type("/fifo") == FileType::kFifo);
  CHECK(host.own_type("/none") == FileType::kNothing);
  CHECK(HostRoot().type("/dev/null") == FileType::kCharacter);
  CHECK(HostRoot().device_number("/dev/null") == "1:3");
  CHECK(is_device_node(FileType::kCharacter));
  CHECK(is_device_node(FileType::kBlock));
  CHECK_FALSE(is_device_node(FileType::kRegular));
}

TEST_CASE(
    "on a recorded machine a device node has its type and number, and a file recorded without content has no "
    "text") {
  const auto machine = std::make_shared<RecordedMachine>();
  machine->tree.add("/dev/nvidia0", {.type = FileType::kCharacter, .text = "195:0", .entries = {}});
  machine->tree.add("/etc/closed", {.type = FileType::kRegular, .text = std::nullopt, .entries = {}});
  machine->node = "node-1";
  const HostRoot host{std::shared_ptr<const RecordedMachine>(machine)};
  CHECK(host.type("/dev/nvidia0") == FileType::kCharacter);
  CHECK(host.device_number("/dev/nvidia0") == "195:0");
  CHECK(host.text("/dev/nvidia0") == std::nullopt);
  CHECK(host.exists("/etc/closed"));
  CHECK(host.text("/etc/closed") == std::nullopt);
  CHECK(host.device_number("/etc/closed") == std::nullopt);
  CHECK(host.node_name() == "node-1");
  CHECK(host.recorded());
  CHECK_FALSE(host.runs_programs());
  REQUIRE(host.nvml());
  CHECK_THROWS_AS(host.at("/dev/nvidia0"), std::logic_error);
  CHECK(HostRoot().runs_programs());
  CHECK_FALSE(HostRoot().nvml());
}

TEST_CASE("while paths are recorded, each path that is read is reported, and no program runs") {
  const MadeTree tree;
  using Look = HostRoot::Look;
  std::vector<std::pair<Look, std::string>> noted;
  const HostRoot host =
      HostRoot(tree.made.path())
          .noted([&](Look look, const std::string& path) { noted.emplace_back(look, path); }, nullptr);
  host.glob("/dev/ttyUSB[01]");
  host.text("/sys/bus/pci/uevent");
  host.exists("/none");
  for (const auto& look : {std::pair(Look::kEntries, "/dev"), std::pair(Look::kFile, "/dev/ttyUSB1"),
                           std::pair(Look::kText, "/sys/bus/pci/uevent"), std::pair(Look::kFile, "/none")})
    CHECK(std::ranges::find(noted, std::pair<Look, std::string>(look)) != noted.end());
  CHECK_FALSE(host.runs_programs());
  CHECK_FALSE(host.recorded());
}

}  // namespace
}  // namespace plughost
