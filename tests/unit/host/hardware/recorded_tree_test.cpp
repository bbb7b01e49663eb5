#include "host/hardware/recorded_machine.hpp"

#include <doctest/doctest.h>

#include "base/system/files.hpp"

namespace plughost {
namespace {

using File = RecordedTree::File;

void add_file(RecordedTree& tree, const std::string& path, const std::string& text) {
  tree.add(path, {.type = FileType::kRegular, .text = text, .entries = {}});
}

void add_link(RecordedTree& tree, const std::string& path, const std::string& target) {
  tree.add(path, {.type = FileType::kLink, .text = target, .entries = {}});
}

std::string text_at(const RecordedTree& tree, const std::string& path) {
  const auto found = tree.find(path);
  return found.file ? found.file->text.value_or("(no text)") : '(' + found.failed.message() + ')';
}

std::string place_of(const RecordedTree& tree, const std::string& path) {
  return tree.canonical(path).value_or("");
}

TEST_CASE("a file of the recorded tree is found at its path, with its directories") {
  RecordedTree tree;
  add_file(tree, "/sys/b/x", "1");
  add_file(tree, "/sys/a/x", "2");
  add_file(tree, "/sys/c", "3");
  CHECK(text_at(tree, "/sys/b/x") == "1");
  CHECK(text_at(tree, "/sys/a/x") == "2");
  CHECK(text_at(tree, "/sys/c") == "3");
  CHECK(tree.find("/sys/a").file->type == FileType::kDirectory);
  CHECK(tree.find("/").file == &tree.root());
  const File& sys = *tree.find("/sys").file;
  REQUIRE(sys.entries.size() == 3);
  CHECK(sys.entries[0].name == "a");
  CHECK(sys.entries[1].name == "b");
  CHECK(sys.entries[2].name == "c");
}

TEST_CASE("a path that is recorded twice exists once, and a file may become a directory") {
  RecordedTree tree;
  add_file(tree, "/a", "1");
  add_file(tree, "/a", "2");
  CHECK(tree.root().entries.size() == 1);
  CHECK(text_at(tree, "/a") == "2");
  add_file(tree, "/a/b", "3");
  CHECK(text_at(tree, "/a/b") == "3");
  CHECK(tree.find("/a").file->type == FileType::kDirectory);
}

TEST_CASE("a missing file gives the kernel's error") {
  RecordedTree tree;
  add_file(tree, "/a/file", "1");
  CHECK(tree.find("/b").failed == std::errc::no_such_file_or_directory);
  CHECK(tree.find("/a/fil").failed == std::errc::no_such_file_or_directory);
  CHECK(tree.find("/a/file/x").failed == std::errc::not_a_directory);
  CHECK(tree.find("/a/file/").failed == std::errc::not_a_directory);
  CHECK(tree.find("/a/file/.").failed == std::errc::not_a_directory);
  CHECK(tree.find("/a/").file->type == FileType::kDirectory);
}

TEST_CASE("slashes, dots and two dots are resolved as the kernel does") {
  RecordedTree tree;
  add_file(tree, "/a/b/file", "1");
  CHECK(text_at(tree, "//a/./b//file") == "1");
  CHECK(text_at(tree, "/a/b/../b/file") == "1");
  CHECK(text_at(tree, "/../../a/b/file") == "1");
  CHECK(place_of(tree, "/a/b/../b/./file") == "/a/b/file");
  CHECK(place_of(tree, "/a/..") == "/");
}

TEST_CASE(
    "a relative link is resolved from its own directory, and `..` after a link from the link's target") {
  RecordedTree tree;
  add_file(tree, "/devices/pci/dev/vendor", "8086");
  add_link(tree, "/class/net/eth0", "../../devices/pci/dev");
  add_link(tree, "/class/all", "/class/net");
  add_link(tree, "/devices/pci/dev/self", ".");
  CHECK(text_at(tree, "/class/net/eth0/vendor") == "8086");
  CHECK(text_at(tree, "/class/all/eth0/self/vendor") == "8086");
  CHECK(place_of(tree, "/class/all/eth0/vendor") == "/devices/pci/dev/vendor");
  CHECK(place_of(tree, "/class/net/eth0/..") == "/devices/pci");
}

TEST_CASE("a lookup can return the last link of a path instead of its target") {
  RecordedTree tree;
  add_file(tree, "/target", "1");
  add_link(tree, "/link", "target");
  add_link(tree, "/dangling", "/nowhere");
  add_link(tree, "/to", "/");
  CHECK(tree.find("/link", LastLink::kKeep).file->text == "target");
  CHECK(tree.find("/link").file->text == "1");
  CHECK(tree.find("/dangling", LastLink::kKeep).file->text == "/nowhere");
  CHECK(tree.find("/dangling").failed == std::errc::no_such_file_or_directory);
  CHECK(tree.find("/to/link", LastLink::kKeep).file->text == "target");
  CHECK(tree.find("/to/", LastLink::kKeep).file == &tree.root());
}

TEST_CASE("as many links are followed as the kernel follows") {
  RecordedTree tree;
  add_file(tree, "/0", "end");
  for (int i = 1; i <= kMostLinks + 1; ++i) add_link(tree, '/' + std::to_string(i), std::to_string(i - 1));
  CHECK(text_at(tree, '/' + std::to_string(kMostLinks)) == "end");
  CHECK(tree.find('/' + std::to_string(kMostLinks + 1)).failed == std::errc::too_many_symbolic_link_levels);
  add_link(tree, "/a", "b");
  add_link(tree, "/b", "a");
  CHECK(tree.find("/a/x").failed == std::errc::too_many_symbolic_link_levels);
}

TEST_CASE("a link with an unknown target is dangling") {
  RecordedTree tree;
  tree.add("/a", {.type = FileType::kLink, .text = std::nullopt, .entries = {}});
  add_link(tree, "/b", "");
  CHECK(tree.find("/a").failed == std::errc::no_such_file_or_directory);
  CHECK(tree.find("/b").failed == std::errc::no_such_file_or_directory);
}

TEST_CASE("a path of more than 64 components is refused, also through links") {
  RecordedTree tree;
  std::string path;
  for (int i = 0; i < 64; ++i) path += "/d";
  add_file(tree, path + "/file", "far");
  CHECK(tree.find(path).file->type == FileType::kDirectory);
  CHECK(tree.find(path + "/file").failed == std::errc::filename_too_long);
  add_link(tree, "/link", path);
  CHECK(tree.find("/link/file").failed == std::errc::filename_too_long);
  CHECK(place_of(tree, "/link/../..") == path.substr(0, path.size() - 4));
}

}  // namespace
}  // namespace plughost
