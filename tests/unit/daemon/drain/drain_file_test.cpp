#include "daemon/drain/drain_controller.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "host/hardware/machine_files.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

const Drain::Clock::time_point kThen{std::chrono::seconds(1'763'748'000)};

DrainSet drained(const std::string& device) {
  DrainSet drains;
  drains.set({"x.com/a", device}, {.reason = "the fan", .since = kThen});
  return drains;
}

std::string text_of(const TempDir& tree, const std::string& file) {
  return file_text(tree.at(file)).value_or("");
}

}  // namespace

TEST_CASE("drains: without a file nothing is drained, and the first drain makes the file's directory") {
  const TempDir tree;
  DrainFile file(tree.at("lib/plughost"));
  CHECK(file.read().errors.empty());
  CHECK(file.read().drains == DrainSet());
  CHECK(file.write(drained("0").text()) == "");
  CHECK(file.path() == tree.at("lib/plughost/drains.json"));
  struct stat status {};
  REQUIRE(::stat(file.path().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  REQUIRE(::stat(tree.at("lib/plughost").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  CHECK(DrainFile(tree.at("lib/plughost")).read().drains == drained("0"));
  CHECK(file.write(drained("1").text()) == "");
  CHECK(file.read().drains == drained("1"));
  CHECK_FALSE(std::filesystem::exists(tree.at("lib/plughost/drains.json.tmp")));
}

TEST_CASE(
    "drains: an interrupted write leaves the file unchanged, and the next write replaces the partial file") {
  const TempDir tree;
  DrainFile file(tree.path());
  REQUIRE(file.write(drained("0").text()) == "");
  tree.file("drains.json.tmp", "{\"ver");
  CHECK(file.read().drains == drained("0"));
  CHECK(file.write(drained("1").text()) == "");
  CHECK(file.read().drains == drained("1"));
}

TEST_CASE("drains: broken files are renamed and kept, each with a unique name") {
  const TempDir tree;
  tree.file("drains.json", "{\"version\": 1, \"dra");
  DrainFile file(tree.path());
  const DrainSet::Parsed first = file.read();
  REQUIRE(first.errors.size() == 2);
  CHECK(first.errors[0].find("no JSON") != std::string::npos);
  CHECK(first.errors[1] == "the file is kept as " + tree.at("drains.json.broken").string());
  CHECK(text_of(tree, "drains.json.broken") == "{\"version\": 1, \"dra");
  CHECK_FALSE(std::filesystem::exists(file.path()));
  CHECK(file.read().errors.empty());

  tree.file("drains.json", "");
  CHECK(file.read().errors.back() == "the file is kept as " + tree.at("drains.json.broken-2").string());
  CHECK(text_of(tree, "drains.json.broken") == "{\"version\": 1, \"dra");
  // Later writes succeed.
  CHECK(file.write(drained("0").text()) == "");
  CHECK(file.write(drained("1").text()) == "");
  CHECK(file.read().drains == drained("1"));
  CHECK_FALSE(std::filesystem::exists(tree.at("drains.json.broken-3")));
}

TEST_CASE(
    "drains: a broken file that could not be renamed at first is renamed before anything is written in its "
    "place") {
  const TempDir tree;
  tree.file("drains.json", "broken");
  for (int n = 1; n <= 100; ++n)
    tree.file("drains.json.broken" + (n == 1 ? std::string() : "-" + std::to_string(n)), "old");
  DrainFile file(tree.path());
  CHECK(file.read().errors.back() == "the file cannot be set aside: File exists");
  CHECK(file.write(drained("0").text()) == file.path().string() + " cannot be written: File exists");
  CHECK(text_of(tree, "drains.json") == "broken");
  tree.remove("drains.json.broken-7");
  CHECK(file.write(drained("0").text()) == "");
  CHECK(text_of(tree, "drains.json.broken-7") == "broken");
  CHECK(file.read().drains == drained("0"));
}

TEST_CASE("drains: a file that is unreadable or larger than 16 MiB is renamed, too") {
  const TempDir tree;
  tree.directory("drains.json");
  DrainFile file(tree.path());
  CHECK(file.read().errors.front() == "Is a directory");
  CHECK(std::filesystem::is_directory(tree.at("drains.json.broken")));
  tree.file("drains.json", std::string(16u << 20, ' '));
  CHECK(file.read().errors.front() == "it is larger than 16 MiB");
}

TEST_CASE("drains: the error of a failed write contains the file's path") {
  const TempDir tree;
  tree.file("lib");
  DrainFile file(tree.at("lib"));
  CHECK(file.write(drained("0").text()) ==
        tree.at("lib/drains.json").string() + " cannot be written: Not a directory");
}
