#include <doctest/doctest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "unit/kinds/entry.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace test;
using Ids = std::vector<std::string>;
using Watch = std::vector<WatchedDirectory>;

Scan scan_of(const TempDir& tree, std::vector<std::pair<std::string, Node>> directory) {
  const Entry entry = read_entry("directory", map(std::move(directory)));
  REQUIRE(entry.problems.empty());
  return entry.source->scan(HostRoot(tree.path()));
}

// Returns the error of a scan, or an empty text if the scan succeeds.
std::string failure_of(const TempDir& tree, const std::string& path) {
  try {
    scan_of(tree, {{"path", text(path)}});
  } catch (const std::system_error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("every file in a directory is a device with the file's name") {
  const TempDir tree;
  tree.file("etc/gophers/gopher2");
  tree.file("etc/gophers/gopher1");
  tree.file("etc/gophers/.hidden");
  tree.directory("etc/gophers/directory");
  const Scan scan = scan_of(tree, {{"path", text("/etc/gophers")}});
  CHECK(ids_of(scan) == Ids{".hidden", "gopher1", "gopher2"});
  CHECK(scan.devices[1].attributes ==
        std::vector<Attribute>{{"name", "gopher1"}, {"path", "/etc/gophers/gopher1"}});
  CHECK(scan.watch == Watch{{"/etc/gophers", "*"}});
  CHECK(scan.remarks.empty());
}

TEST_CASE("each entry except directories is a device, and a link counts as its target") {
  const TempDir tree;
  tree.file("g/file");
  tree.directory("d");
  REQUIRE(::mkfifo(tree.at("g/pipe").c_str(), 0600) == 0);
  tree.link("g/to-file", "file");
  tree.link("g/to-node", "/dev/null");
  tree.link("g/to-directory", "../d");
  tree.link("g/dangling", "nothing");
  tree.link("g/circle", "circle");
  CHECK(ids_of(scan_of(tree, {{"path", text("/g")}})) == Ids{"file", "pipe", "to-file", "to-node"});
}

TEST_CASE("only the names that match are devices") {
  const TempDir tree;
  tree.file("g/a.dev");
  tree.file("g/a.txt");
  const Scan scan = scan_of(tree, {{"path", text("/g")}, {"match", text("*.dev")}});
  CHECK(ids_of(scan) == Ids{"a.dev"});
  CHECK(scan.watch == Watch{{"/g", "*.dev"}});
}

TEST_CASE("a file name that is not UTF-8 is kept byte by byte") {
  const TempDir tree;
  tree.file("g/a b\n\xFF");
  CHECK(ids_of(scan_of(tree, {{"path", text("/g")}})) == Ids{"a b\n\xFF"});
}

TEST_CASE("a recursive directory has the files below it, without following links") {
  const TempDir tree;
  tree.file("g/b/c/x.dev");
  tree.file("g/a/y.dev");
  tree.file("g/z.dev");
  tree.file("g/a/no");
  tree.link("g/a/loop", "..");
  const Scan scan =
      scan_of(tree, {{"path", text("/g")}, {"match", text("*.dev")}, {"recursive", text("true")}});
  CHECK(ids_of(scan) == Ids{"a/y.dev", "b/c/x.dev", "z.dev"});
  CHECK(*scan.devices[1].attribute("path") == "/g/b/c/x.dev");
  CHECK(scan.watch == Watch{{"/g", "*"}, {"/g/a", "*"}, {"/g/b", "*"}, {"/g/b/c", "*"}});
}

TEST_CASE("at most a thousand directories are watched, and all are scanned") {
  const TempDir tree;
  for (int i = 0; i < 1001; ++i) tree.file("g/" + std::to_string(i) + "/x");
  const Scan scan = scan_of(tree, {{"path", text("/g")}, {"recursive", text("true")}});
  CHECK(scan.devices.size() == 1001);
  CHECK(scan.watch.size() == 1000);
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0] == "/g has 1001 directories below it; changes in the deeper ones are seen late");
}

TEST_CASE("a missing directory has no devices and is watched") {
  const TempDir tree;
  const Scan scan = scan_of(tree, {{"path", text("/etc/gophers")}});
  CHECK(scan.devices.empty());
  CHECK(scan.watch == Watch{{"/etc/gophers", "*"}});
}

TEST_CASE("an unreadable directory is an error, not an empty list") {
  const TempDir tree;
  const std::string too_long = "/" + std::string(300, 'x');
  CHECK(failure_of(tree, too_long) == "the directory " + too_long + " cannot be read: File name too long");
  tree.file("file");
  CHECK(failure_of(tree, "/file") == "/file is a file, and its files cannot be listed: Not a directory");
}

// Runs this thread as an unprivileged user, because root can read every directory.
struct WithoutRoot {
  WithoutRoot() { ::setfsuid(kNobody); }
  ~WithoutRoot() { ::setfsuid(::geteuid()); }
  static constexpr uid_t kNobody = 65534;
};

TEST_CASE("an unreadable subdirectory leads to a remark") {
  const TempDir tree;
  std::filesystem::permissions(tree.path(), std::filesystem::perms{0755});
  tree.file("g/a/x");
  tree.file("g/b/y");
  std::filesystem::permissions(tree.at("g/a"), std::filesystem::perms::none);
  const Scan scan = [&] {
    const WithoutRoot reader;
    return scan_of(tree, {{"path", text("/g")}, {"recursive", text("true")}});
  }();
  std::filesystem::permissions(tree.at("g/a"), std::filesystem::perms::owner_all);
  CHECK(ids_of(scan) == Ids{"b/y"});
  CHECK(scan.remarks == Ids{"1 directory below /g cannot be read, the first: /g/a: Permission denied"});
}

TEST_CASE("errors of a directory's entry are found when it is read") {
  CHECK(read_entry("directory", map({})).problems.size() == 1);
  CHECK(read_entry("directory", map({{"path", text("relative")}})).problems.size() == 1);
  CHECK(read_entry("directory", map({{"path", text("/x")}, {"match", text("a/*")}})).problems.size() == 1);
  CHECK(read_entry("directory", map({{"path", text("/x")}, {"recursive", text("maybe")}})).problems.size() ==
        1);
  CHECK(read_entry("directory", map({{"path", text("/x")}, {"mach", text("*")}})).problems.size() == 1);
  CHECK(read_entry("directory", list({})).problems.size() >= 1);
}

TEST_CASE("only with `recursive` the devices have the attribute basename") {
  const TempDir tree;
  tree.file("g/b/c/x.dev");
  tree.file("g/z.dev");
  const Scan scan = scan_of(tree, {{"path", text("/g")}, {"recursive", text("true")}});
  REQUIRE(ids_of(scan) == Ids{"b/c/x.dev", "z.dev"});
  CHECK(*scan.devices[0].attribute("basename") == "x.dev");
  CHECK(*scan.devices[1].attribute("basename") == "z.dev");
  CHECK_FALSE(scan_of(tree, {{"path", text("/g")}}).devices.at(0).attribute("basename"));
}

}  // namespace
}  // namespace plughost
