#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "model/device/assembly.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace test;
using Ids = std::vector<std::string>;
using Nodes = std::vector<DeviceNode>;
using Members = std::vector<std::pair<std::string, Node>>;

Node path(std::string pattern, Members more = {}) {
  more.emplace_back("path", text(std::move(pattern)));
  return map(std::move(more));
}

Node group(std::vector<Node> paths, Members more = {}) {
  more.emplace_back("paths", list(std::move(paths)));
  return map(std::move(more));
}

Scan scan_of(const TempDir& tree, std::vector<Node> groups) {
  const Entry entry = read_entry("groups", list(std::move(groups)));
  REQUIRE(entry.problems == Ids{});
  return entry.source->scan(HostRoot(tree.path()));
}

// Creates links to /dev/null instead of device nodes, because nodes need root.
void make_nodes(const TempDir& tree, std::initializer_list<const char*> paths) {
  for (const char* each : paths) tree.link(each, "/dev/null");
}

Ids problems_of(std::vector<Node> groups) { return read_entry("groups", list(std::move(groups))).problems; }

TEST_CASE("each match of a path is a device with its node") {
  const TempDir tree;
  make_nodes(tree, {"dev/ttyUSB1", "dev/ttyUSB0"});
  const Scan scan = scan_of(tree, {group({path("/dev/ttyUSB*")})});
  CHECK(ids_of(scan) == Ids{"ttyUSB0", "ttyUSB1"});
  CHECK(scan.devices[1].nodes == Nodes{{"/dev/ttyUSB1", "/dev/ttyUSB1", "rw"}});
  CHECK(scan.devices[1].attributes == std::vector<Attribute>{{"name", "ttyUSB1"},
                                                             {"plainName", "ttyUSB1"},
                                                             {"path", "/dev/ttyUSB1"},
                                                             {"target", "/dev/null"}});
  CHECK(scan.devices[1].replicas == 1);
  CHECK(std::ranges::count(scan.watch, WatchedDirectory{"/dev", "ttyUSB*"}) == 1);
}

TEST_CASE("the n-th matches of a group's paths are one device") {
  const TempDir tree;
  make_nodes(tree, {"dev/a0", "dev/a1", "dev/b0", "dev/b1", "dev/b2"});
  const Scan scan = scan_of(tree, {group({path("/dev/a?"), path("/dev/b?", {{"permissions", text("r")}})})});
  REQUIRE(ids_of(scan) == Ids{"a0", "a1"});
  CHECK(scan.devices[1].nodes == Nodes{{"/dev/a1", "/dev/a1", "rw"}, {"/dev/b1", "/dev/b1", "r"}});
}

TEST_CASE("`limit` lets the matches of a path be used several times if other paths have more matches") {
  const TempDir tree;
  make_nodes(tree, {"dev/a0", "dev/a1", "dev/b0", "dev/b1", "dev/b2", "dev/b3", "dev/b4"});
  const Scan scan = scan_of(tree, {group({path("/dev/a?", {{"limit", text("2")}}), path("/dev/b?")})});
  REQUIRE(ids_of(scan) == Ids{"a0", "a1", "a0-1", "a1-1"});
  CHECK(scan.devices[2].nodes == Nodes{{"/dev/a0", "/dev/a0", "rw"}, {"/dev/b2", "/dev/b2", "rw"}});
  CHECK(*scan.devices[2].attribute("name") == "a0");
  // The number of devices is the largest number of matches, so `limit` alone adds none.
  CHECK(scan_of(tree, {group({path("/dev/a?", {{"limit", text("9")}})})}).devices.size() == 2);
  CHECK(scan_of(tree, {group({path("/dev/a0", {{"limit", text("9")}}), path("/dev/b?")})}).devices.size() ==
        5);
}

TEST_CASE("an optional path may have fewer matches, but each device needs a match of each required path") {
  const TempDir tree;
  make_nodes(tree, {"dev/a0", "dev/a1", "dev/b0"});
  const Scan scan = scan_of(tree, {group({path("/dev/b?", {{"optional", text("true")}}), path("/dev/a?")})});
  REQUIRE(ids_of(scan) == Ids{"b0", "a1"});
  CHECK(scan.devices[1].nodes == Nodes{{"/dev/a1", "/dev/a1", "rw"}});
  CHECK(scan_of(tree, {group({path("/dev/a?"), path("/dev/c?")})}).devices.empty());
  CHECK(ids_of(scan_of(tree, {group({path("/dev/a?", {{"optional", text("true")}})})})) == Ids{"a0", "a1"});
}

TEST_CASE("a group's count is the number of containers that may share a device") {
  const TempDir tree;
  make_nodes(tree, {"dev/fuse"});
  const Scan scan = scan_of(tree, {group({path("/dev/fuse")}, {{"count", text("10")}})});
  REQUIRE(scan.devices.size() == 1);
  CHECK(scan.devices[0].replicas == 10);
}

TEST_CASE("a mount path sets a match's path in the container") {
  const TempDir tree;
  make_nodes(tree, {"dev/snd/timer{1}"});
  const auto placed = [&](const char* mount_path) {
    const Scan scan = scan_of(tree, {group({path("/dev/snd/*", {{"mountPath", text(mount_path)}})})});
    return scan.devices.at(0).nodes.at(0).container_path;
  };
  CHECK(placed("/dev/modem") == "/dev/modem");
  CHECK(placed("/dev/modem{n}") == "/dev/modem{n}");
  CHECK(placed("/dev/x/") == "/dev/x/timer{{1}}");
  CHECK(placed("{path}{n}") == "/dev/snd/timer{{1}}{n}");
  CHECK(placed("/dev/{name}") == "/dev/snd_timer{{1}}");
  CHECK(placed("/{{x}}") == "/{{x}}");
  CHECK(scan_of(tree, {group({path("/dev/snd/*")})}).devices[0].nodes[0].container_path ==
        "/dev/snd/timer{{1}}");
}

TEST_CASE("a mount adds files and directories") {
  const TempDir tree;
  tree.file("etc/a.conf");
  tree.directory("etc/b.conf");
  const Scan scan = scan_of(
      tree,
      {group({path("/etc/*.conf",
                   {{"type", text("Mount")}, {"readOnly", text("true")}, {"mountPath", text("/c/")}})})});
  REQUIRE(ids_of(scan) == Ids{"etc_a.conf", "etc_b.conf"});
  CHECK(scan.devices[1].mounts == std::vector<Mount>{{"/etc/b.conf", "/c/b.conf", true}});
  CHECK(scan.devices[1].nodes.empty());
  CHECK(scan.devices[1].healthy());
}

TEST_CASE(
    "a pattern skips files that are not device nodes, and a path to such a file makes the device Unhealthy") {
  const TempDir tree;
  make_nodes(tree, {"dev/snd/timer"});
  tree.directory("dev/snd/by-path");
  tree.file("dev/snd/file");
  CHECK(ids_of(scan_of(tree, {group({path("/dev/snd/*")})})) == Ids{"snd_timer"});
  const Scan scan = scan_of(tree, {group({path("/dev/snd")}), group({path("/dev/snd/file")})});
  REQUIRE(ids_of(scan) == Ids{"snd", "snd_file"});
  CHECK(scan.devices[0].error ==
        "/dev/snd is a directory without device nodes; `type: Mount` gives files and directories");
  CHECK(scan.devices[1].error.find("is a regular file") != std::string::npos);
}

TEST_CASE("a directory such as /dev/snd adds its nodes") {
  const TempDir tree;
  tree.directory("dev/snd/by-path");
  make_nodes(tree, {"dev/snd/link"});
  const Scan empty = scan_of(tree, {group({path("/dev/snd")})});
  CHECK(empty.devices.at(0).error.find("a directory without device nodes") != std::string::npos);
  if (::mknod(tree.at("dev/snd/timer").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) return;  // needs root
  REQUIRE(::mknod(tree.at("dev/snd/controlC0").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0);
  const Scan scan = scan_of(tree, {group({path("/dev/snd", {{"mountPath", text("/dev/sound")}})})});
  REQUIRE(ids_of(scan) == Ids{"snd"});
  CHECK(scan.devices[0].nodes == Nodes{{"/dev/snd/controlC0", "/dev/sound/controlC0", "rw"},
                                       {"/dev/snd/timer", "/dev/sound/timer", "rw"}});
  CHECK(std::ranges::count(scan.watch, WatchedDirectory{"/dev/snd", "*"}) == 1);
}

TEST_CASE("in plainName other characters than letters, digits, '-' and '_' are replaced by '_'") {
  const TempDir tree;
  make_nodes(tree, {"dev/apex_0.1", "dev/v4l/by-path/pci-0000:00:14.0", "dev/A-z_9"});
  const auto plain_name = [&](const char* of) {
    return *scan_of(tree, {group({path(of)})}).devices.at(0).attribute("plainName");
  };
  CHECK(plain_name("/dev/apex_0.1") == "apex_0_1");
  CHECK(plain_name("/dev/v4l/by-path/*") == "pci-0000_00_14_0");
  CHECK(plain_name("/dev/A-z_9") == "A-z_9");
}

TEST_CASE(
    "a path to a directory also adds the nodes of subdirectories, except those that container runtimes "
    "skip") {
  const TempDir tree;
  for (const char* directory : {"dev/bus/usb/001", "dev/bus/usb/002", "dev/bus/usb/pts", "dev/bus/usb/.udev"})
    tree.directory(directory);
  tree.link("dev/bus/usb/003", "001");
  const auto make = [&](const char* path) {
    return ::mknod(tree.at(path).c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  };
  if (!make("dev/bus/usb/002/001")) return;  // creating nodes needs root
  REQUIRE(make("dev/bus/usb/001/002"));
  REQUIRE(make("dev/bus/usb/001/001"));
  REQUIRE(make("dev/bus/usb/pts/0"));
  REQUIRE(make("dev/bus/usb/.udev/0"));
  REQUIRE(make("dev/bus/usb/console"));
  const Scan scan = scan_of(tree, {group({path("/dev/bus/usb", {{"mountPath", text("/usb")}})})});
  REQUIRE(ids_of(scan) == Ids{"bus_usb"});
  CHECK(scan.devices[0].healthy());
  CHECK(scan.devices[0].nodes == Nodes{{"/dev/bus/usb/001/001", "/usb/001/001", "rw"},
                                       {"/dev/bus/usb/001/002", "/usb/001/002", "rw"},
                                       {"/dev/bus/usb/002/001", "/usb/002/001", "rw"}});
  for (const char* followed : {"/dev/bus/usb", "/dev/bus/usb/001", "/dev/bus/usb/002"})
    CHECK(std::ranges::count(scan.watch, WatchedDirectory{followed, "*"}) == 1);
  CHECK(std::ranges::count(scan.watch, WatchedDirectory{"/dev/bus/usb/003", "*"}) == 0);
}

TEST_CASE("a directory with more nodes than an Allocate response can have makes the device Unhealthy") {
  const TempDir tree;
  tree.directory("dev/many");
  const auto make = [&](int i) {
    return ::mknod(tree.at("dev/many/" + std::to_string(i)).c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  };
  if (!make(0)) return;  // creating nodes needs root
  for (int i = 1; i < 1000; ++i) REQUIRE(make(i));
  const Scan full = scan_of(tree, {group({path("/dev/many")})});
  CHECK(full.devices.at(0).healthy());
  CHECK(full.devices[0].nodes.size() == 1000);
  REQUIRE(make(1000));
  CHECK(scan_of(tree, {group({path("/dev/many")})}).devices.at(0).error ==
        "/dev/many has more than 1000 device nodes; name those that are meant, as in /dev/many/*");
}

TEST_CASE("a device found by a link below by-id has the link's name as id, and the link's path as node") {
  const TempDir tree;
  make_nodes(tree, {"dev/ttyUSB3"});
  tree.link("dev/serial/by-id/usb-FTDI_A1", "../../ttyUSB3");
  const Scan scan = scan_of(tree, {group({path("/dev/serial/by-id/*")})});
  REQUIRE(ids_of(scan) == Ids{"usb-FTDI_A1"});
  CHECK(scan.devices[0].nodes[0].host_path == "/dev/serial/by-id/usb-FTDI_A1");
  CHECK(std::ranges::count(scan.watch, WatchedDirectory{"/dev", "ttyUSB3"}) == 1);
}

TEST_CASE("a link's target is a path of the machine") {
  const TempDir tree;
  tree.file("data/real");
  tree.link("data/link", "real");
  const Scan scan = scan_of(tree, {group({path("/data/link", {{"type", text("Mount")}})})});
  CHECK(*scan.devices.at(0).attribute("target") == "/data/real");
}

TEST_CASE("a device whose node has a name that is not UTF-8 is Unhealthy") {
  const TempDir tree;
  make_nodes(tree, {"dev/x\xFF"});
  AllocationSpec spec;
  spec.name = Template("example.com/x");
  const Assembly assembly = assemble(spec, scan_of(tree, {group({path("/dev/x*")})}).devices);
  const Device& device = assembly.resources.at("example.com/x").at(0);
  CHECK(device.id == "x%FF");
  CHECK_FALSE(device.healthy());
}

TEST_CASE("errors of a group are found when it is read") {
  CHECK(problems_of({group({path("/dev/x")})}).empty());
  CHECK(problems_of({}).size() == 1);
  CHECK(problems_of({group({})}).size() == 1);
  CHECK(problems_of({map({})}).size() == 1);
  CHECK(problems_of({group({map({})})}).size() == 1);
  const auto with = [](const char* key, const char* value, const char* type = "Device") {
    return problems_of({group({path("/dev/x", {{"type", text(type)}, {key, text(value)}})})});
  };
  CHECK(with("permissions", "rx").size() == 1);
  CHECK(with("permissions", "").size() == 1);
  CHECK(with("permissions", "mrw").empty());
  CHECK(with("permissions", "rw", "Mount").size() == 1);
  CHECK(with("readOnly", "true").size() == 1);
  CHECK(with("readOnly", "true", "Mount").empty());
  CHECK(with("mountPath", "dev/x").size() == 1);
  CHECK(with("mountPath", "/dev/{serial}").size() == 1);
  CHECK(with("limit", "0").size() == 1);
  CHECK(with("optional", "perhaps").size() == 1);
  const Ids misspelt = with("mountpath", "/x");
  REQUIRE(misspelt.size() == 1);
  CHECK(misspelt[0].find("mountPath") != std::string::npos);
  CHECK(problems_of({group({path("/dev/x", {{"type", text("Directory")}})})}).size() == 1);
  CHECK(problems_of({group({path("relative")})}).size() == 1);
  CHECK(problems_of({group({path("/dev/x")}, {{"count", text("0")}})}).size() == 1);
}

}  // namespace
}  // namespace plughost
