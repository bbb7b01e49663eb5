#include "tools/setup/plan.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using Changes = std::vector<FileChange>;

namespace {

const std::string kOld = "# Written by plughost setup\nold\n";
const std::string kNew = "# Written by plughost setup\nnew\n";

class Tree {
 public:
  Changes changes(const std::string& path, const std::string& text) const {
    return changes_of(host, std::vector<PlannedFile>{{path, text}});
  }
  std::string text(const std::string& path) const { return host.text(path).value_or("(none)"); }

  TempDir tree;
  HostRoot host{tree.path()};
};

}  // namespace

TEST_CASE("a file is written, replaced or removed, and an unchanged one is no change") {
  const Tree node;
  CHECK(node.changes("/a", kNew) == Changes{{"/a", std::nullopt, kNew}});
  CHECK(node.changes("/a", "").empty());
  node.tree.file("/a", kOld);
  CHECK(node.changes("/a", kNew) == Changes{{"/a", kOld, kNew}});
  CHECK(node.changes("/a", kOld).empty());
  CHECK(node.changes("/a", "") == Changes{{"/a", kOld, std::nullopt}});
}

TEST_CASE("a foreign file blocks a planned one, and is otherwise left alone") {
  const Tree node;
  node.tree.file("/text", "somebody's\n");
  node.tree.directory("/directory");
  node.tree.file("/target", kOld);
  node.tree.link("/link", "target");
  node.tree.link("/dangling", "nowhere");
  for (const std::string path : {"/text", "/directory", "/link", "/dangling"}) {
    CAPTURE(path);
    CHECK_THROWS_AS(node.changes(path, kNew), SetupError);
    CHECK(node.changes(path, "").empty());
  }
  CHECK_THROWS_WITH_AS(
      node.changes("/text", kNew),
      "/text is there, and plughost setup has not written it; nothing was changed: move it away, "
      "and compare the two then",
      SetupError);
}

TEST_CASE("of several files those that differ are changed, in their order") {
  const Tree node;
  node.tree.file("/somebodys", "text\n");
  node.tree.file("/right", kNew);
  const std::vector<PlannedFile> files{{"/somebodys", ""}, {"/b", kNew}, {"/right", kNew}, {"/a", kOld}};
  CHECK(changes_of(node.host, files) == Changes{{"/b", std::nullopt, kNew}, {"/a", std::nullopt, kOld}});
}

TEST_CASE("missing directories are created with their files, and an empty drop-in directory is removed") {
  const Tree node;
  make_changes(node.host, Changes{{"/etc/x.service.d/a.conf", std::nullopt, kNew},
                                  {"/etc/plughost/node.yaml", std::nullopt, kNew}});
  CHECK(node.text("/etc/x.service.d/a.conf") == kNew);
  make_changes(node.host, Changes{{"/etc/x.service.d/a.conf", kNew, kOld}});
  CHECK(node.text("/etc/x.service.d/a.conf") == kOld);
  make_changes(node.host, Changes{{"/etc/x.service.d/a.conf", kOld, std::nullopt},
                                  {"/etc/plughost/node.yaml", kNew, std::nullopt}});
  CHECK_FALSE(node.host.exists("/etc/x.service.d"));
  CHECK(node.host.exists("/etc/plughost"));
  CHECK_FALSE(node.host.exists("/etc/plughost/node.yaml"));

  node.tree.file("/etc/x.service.d/b.conf");
  make_changes(node.host, Changes{{"/etc/x.service.d/a.conf", std::nullopt, kNew}});
  make_changes(node.host, Changes{{"/etc/x.service.d/a.conf", kNew, std::nullopt}});
  CHECK(node.host.exists("/etc/x.service.d/b.conf"));
}

TEST_CASE("the link that enables setup's own unit is removed with the unit") {
  const Tree node;
  node.tree.file(kOwnUnit, kOld);
  node.tree.link(kOwnUnitLink, kOwnUnit);
  make_changes(node.host, Changes{{kDropIn, std::nullopt, kNew}});
  CHECK(node.host.own_type(kOwnUnitLink) == FileType::kLink);
  make_changes(node.host, Changes{{kOwnUnit, kOld, std::nullopt}});
  CHECK(node.host.own_type(kOwnUnitLink) == FileType::kNothing);
}

TEST_CASE("the first change that fails is the last, and the earlier ones are reported") {
  const Tree node;
  node.tree.file("/file", "somebody's");
  const FileChange impossible{"/file/a", std::nullopt, kNew};
  CHECK_THROWS_WITH_AS(make_changes(node.host, Changes{impossible, {"/b", std::nullopt, kNew}}),
                       "/file/a cannot be written: Not a directory; nothing was changed", SetupError);
  CHECK_FALSE(node.host.exists("/b"));
  CHECK_THROWS_WITH_AS(make_changes(node.host, Changes{{"/b", std::nullopt, kNew}, impossible}),
                       "/file/a cannot be written: Not a directory; done before that: /b", SetupError);
  node.tree.file("/full/a");
  CHECK_THROWS_WITH_AS(make_changes(node.host, Changes{{"/full", kOld, std::nullopt}}),
                       "/full cannot be removed: Directory not empty; nothing was changed", SetupError);
}

TEST_CASE("the diff of a new or removed file is one hunk, and the diff of an unchanged file is empty") {
  CHECK(FileChange{"/f", std::nullopt, "a\nb\n"}.diff() ==
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  CHECK(FileChange{"/f", "a\n", std::nullopt}.diff() == "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
  CHECK(FileChange{"/f", "a\n", "a\n"}.diff().empty());
  CHECK(FileChange{"/f", std::nullopt, std::nullopt}.diff().empty());
}

TEST_CASE("a diff has unchanged lines too, and removed lines before added ones") {
  CHECK(FileChange{"/f", "a\nb\nc\n", "a\nx\nc\nd\n"}.diff() ==
        "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n c\n+d\n");
  CHECK(FileChange{"/f", "a\na\nb\n", "a\nb\n"}.diff() == "--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n-a\n b\n");
}

TEST_CASE("the diff of a text without a final newline is as patch(1) needs it") {
  CHECK(FileChange{"/f", "a", "a\n"}.diff() ==
        "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}
