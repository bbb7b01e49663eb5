#include "daemon/report/feature_labels.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const FeatureTime kNow{std::chrono::seconds(1'800'000'000)};
const std::string kGpu = "example.com/gpu";
const std::string kNic = "example.com/nic";

using Wanted = FeatureDirectory::Wanted;
using Names = std::set<std::string>;

struct DirectoryRig {
  TempDir tree;
  HostRoot host{tree.path()};
  FeatureDirectory directory{host, "/nfd/features.d", "plughost"};

  std::filesystem::path at(const std::string& entry, const std::string& owner = "plughost") const {
    return tree.at("nfd/features.d/" + feature_file_name(owner, entry));
  }
  Names files() const {
    Names names;
    for (const auto& file : std::filesystem::directory_iterator(tree.at("nfd/features.d")))
      names.insert(file.path().filename());
    return names;
  }
};

Names files_of(const std::vector<std::string>& entries) {
  Names names;
  for (const std::string& entry : entries) names.insert(feature_file_name("plughost", entry));
  return names;
}

struct stat status_of(const std::filesystem::path& file) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status;
}

}  // namespace

TEST_CASE("a feature file is complete, valid for an hour, and readable for others under any umask") {
  const DirectoryRig rig;
  const mode_t before = ::umask(0077);
  CHECK(rig.directory.make({.labels = {{kGpu, {{"model", "T4"}}}}, .left = {}}, kNow).empty());
  ::umask(before);
  CHECK(content(rig.at(kGpu)) == feature_file_text({{"model", "T4"}}, kNow + 60min));
  CHECK((status_of(rig.at(kGpu)).st_mode & 0777) == 0644);
  CHECK((status_of(rig.tree.at("nfd/features.d")).st_mode & 0777) == 0755);
  CHECK(rig.files() == files_of({kGpu}));
}

TEST_CASE(
    "a feature file is written again when its content changes, or it is about to expire, and not before") {
  const DirectoryRig rig;
  const Wanted wanted{.labels = {{kGpu, {{"model", "T4"}}}}, .left = {}};
  REQUIRE(rig.directory.make(wanted, kNow).empty());
  const ino_t first = status_of(rig.at(kGpu)).st_ino;
  CHECK(rig.directory.make(wanted, kNow + 30min).empty());
  CHECK(status_of(rig.at(kGpu)).st_ino == first);
  CHECK(rig.directory.make(wanted, kNow + 31min).empty());
  CHECK(content(rig.at(kGpu)) == feature_file_text({{"model", "T4"}}, kNow + 91min));
  CHECK(rig.directory.make({.labels = {{kGpu, {{"model", "L4"}}}}, .left = {}}, kNow + 32min).empty());
  CHECK(content(rig.at(kGpu)) == feature_file_text({{"model", "L4"}}, kNow + 92min));
}

TEST_CASE(
    "files of removed entries are deleted, and files of other owners or of entries without a list yet stay") {
  const DirectoryRig rig;
  const Labels::Pairs labels{{"a", "b"}};
  REQUIRE(
      rig.directory
          .make({.labels = {{kGpu, labels}, {kNic, labels}, {"example.com/old", labels}}, .left = {}}, kNow)
          .empty());
  const FeatureDirectory other(rig.host, "/nfd/features.d", "plughost.0123456789abcdef");
  REQUIRE(other.make({.labels = {{kGpu, labels}}, .left = {}}, kNow).empty());
  rig.tree.file("nfd/features.d/site", "x=1\n");
  rig.tree.file("nfd/features.d/.plughost-gpu-0.tmp", "half");
  CHECK(rig.directory.make({.labels = {{kGpu, {}}}, .left = {kNic}}, kNow).empty());
  Names left = files_of({kNic});
  left.insert({feature_file_name("plughost.0123456789abcdef", kGpu), "site"});
  CHECK(rig.files() == left);
  CHECK(content(rig.at(kNic)) == feature_file_text(labels, kNow + 60min));
  CHECK(rig.directory.make({}, kNow).empty());
  left.erase(feature_file_name("plughost", kNic));
  CHECK(rig.files() == left);
}

TEST_CASE("without labels no directory is created, and its absence is no error") {
  const DirectoryRig rig;
  CHECK(rig.directory.make({}, kNow).empty());
  CHECK(rig.directory.make({.labels = {{kGpu, {}}}, .left = {kNic}}, kNow).empty());
  CHECK_FALSE(std::filesystem::exists(rig.tree.at("nfd")));
}

TEST_CASE("a link in the place of a feature file is replaced, and not followed") {
  const DirectoryRig rig;
  rig.tree.file("secret", "mine");
  rig.tree.directory("nfd/features.d");
  std::filesystem::create_symlink(rig.tree.at("secret"), rig.at(kGpu));
  CHECK(rig.directory.make({.labels = {{kGpu, {{"a", "b"}}}}, .left = {}}, kNow).empty());
  CHECK(content(rig.tree.at("secret")) == "mine");
  CHECK(content(rig.at(kGpu)) == feature_file_text({{"a", "b"}}, kNow + 60min));
}

TEST_CASE("a feature file that cannot be written is an error with a reason") {
  const DirectoryRig rig;
  rig.tree.file("nfd", "no directory");
  CHECK(rig.directory.make({.labels = {{kGpu, {{"a", "b"}}}}, .left = {}}, kNow) == "Not a directory");
}
