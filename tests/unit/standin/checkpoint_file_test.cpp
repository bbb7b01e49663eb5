#include "kubelet/checkpoint_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using test::content;
using test::TempDir;

namespace {

const std::string kSaved = "vendor.example/thing";

DeviceBook some_book() {
  DeviceBook book;
  book.connect(kSaved, {});
  book.replace_list(kSaved, {{"a", true, {0}}, {"b", false, {}}});
  return book;
}

}  // namespace

TEST_CASE("the checkpoint has a real kubelet's JSON keys, ids by NUMA node, and only the healthy devices") {
  DeviceBook book = some_book();
  book.hold("pod-1", "main", kSaved, {"a"}, "\x0a\x01");
  CHECK(checkpoint_text(book) ==
        R"({"Data":{"PodDeviceEntries":[{"PodUID":"pod-1","ContainerName":"main",)"
        R"("ResourceName":"vendor.example/thing","DeviceIDs":{"0":["a"]},"AllocResp":"CgE="}],)"
        R"("RegisteredDevices":{"vendor.example/thing":["a"]}},"Checksum":0})");
}

TEST_CASE("without pods PodDeviceEntries is null, as Go writes an empty list") {
  const auto document = nlohmann::json::parse(checkpoint_text(some_book()));
  CHECK(document.at("Data").at("PodDeviceEntries").is_null());
}

TEST_CASE("a checkpoint that is read has the written pods, and its resources are stopped without devices") {
  const TempDir directory;
  DeviceBook book = some_book();
  book.hold("pod-1", "main", kSaved, {"a"}, std::string("\0\xff", 2));
  directory.file(CheckpointFile::kName, checkpoint_text(book));
  const DeviceBook again = read_checkpoint(directory.path());
  REQUIRE(again.holdings().size() == 1);
  CHECK(again.holdings()[0].answer == std::string("\0\xff", 2));
  CHECK(again.holdings()[0].ids == book.holdings()[0].ids);
  REQUIRE(again.find(kSaved));
  CHECK(again.find(kSaved)->devices->empty());
  CHECK(again.find(kSaved)->stopped.has_value());
}

TEST_CASE("a missing checkpoint is read as an empty book, and an invalid one throws") {
  const TempDir directory;
  CHECK(read_checkpoint(directory.path()).resources().empty());
  directory.file(CheckpointFile::kName, "{}");
  CHECK_THROWS_AS(read_checkpoint(directory.path()), std::exception);
}

TEST_CASE("when wait_for returns, the file has the newest text, and the directory has no other file") {
  const TempDir directory;
  CheckpointFile file(directory.path(), [](const std::string& error) { FAIL(error); });
  file.write("first");
  file.wait_for(file.write("second"));
  CHECK(content(directory.at(CheckpointFile::kName)) == "second");
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
}

TEST_CASE("the destructor returns after the last text has been written") {
  const TempDir directory;
  CheckpointFile(directory.path(), [](const std::string&) {}).write("last");
  CHECK(content(directory.at(CheckpointFile::kName)) == "last");
}

TEST_CASE("if a text cannot be written, the error is reported, and wait_for returns") {
  const TempDir directory;
  std::string told;
  {
    CheckpointFile file(directory.at("missing"), [&](std::string error) { told = std::move(error); });
    file.wait_for(file.write("text"));
  }
  CHECK(told.find("No such file") != std::string::npos);
}
