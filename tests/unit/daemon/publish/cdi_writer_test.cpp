#include "daemon/publish/cdi_places.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "host/hardware/machine_files.hpp"
#include "unit/daemon/publish/camera_offer.hpp"
#include "unit/leased_program.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

struct WriterRig {
  TempDir tree;
  EventLoop loop;
  std::shared_ptr<const AllocationSpec> spec = with_cdi();
  Workers workers{loop, 2};
  std::optional<CdiWriter> writer{std::in_place, workers,    HostRoot(tree.path()),
                                  "/run/cdi",    "plughost", 300ms};
  std::vector<std::string> told;  // the resource's error for each caller

  void write(const std::string& node, std::vector<CdiFile> files = {}) {
    writer->write(std::move(files), {snapshot_of(spec, node)},
                  [this](const CdiWriter::Outcome& outcome) { told.push_back(outcome.error_of(kCamera)); });
  }
  bool told_all(std::size_t count) {
    return run_until(loop, [&] { return told.size() == count; });
  }
  std::string content() const { return file_text(tree.at(kCameraFile), 1 << 20).value_or(""); }
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("CDI: a write is reported after the file is written, and the newest of several requests stays") {
  WriterRig rig;
  for (const char* node : {"/dev/video0", "/dev/video1", "/dev/video2"}) rig.write(node);
  CHECK(rig.told.empty());
  REQUIRE(rig.told_all(3));
  CHECK(rig.told == std::vector<std::string>(3));
  CHECK(contains(rig.content(), "/dev/video2"));
}

TEST_CASE(
    "CDI: an error of a common file concerns every resource, and an error of a specification only its "
    "resource") {
  WriterRig rig;
  rig.tree.directory("run/cdi/other.json/x");
  rig.write("/dev/video0", {{.name = "other.json", .text = "{}"}});
  REQUIRE(rig.told_all(1));
  CHECK(contains(rig.told[0], "/run/cdi/other.json cannot be written"));
  CHECK(contains(rig.content(), "/dev/video0"));
  rig.tree.remove("run/cdi/other.json");
  rig.tree.remove(kCameraFile);
  rig.tree.directory(kCameraFile + "/x");
  rig.write("/dev/video1", {{.name = "other.json", .text = "{}"}});
  REQUIRE(rig.told_all(2));
  CHECK(contains(rig.told[1], "plughost-example.com_camera.json cannot be written"));
  CHECK(CdiWriter::Outcome{.common = "it hangs", .by_resource = {{"a", "no room"}}}.error_of("a") ==
        "no room");
  CHECK(CdiWriter::Outcome{.common = "it hangs", .by_resource = {{"a", "no room"}}}.error_of("b") ==
        "it hangs");
}

TEST_CASE(
    "CDI: a stalled directory is reported after a deadline, later writes fail at once, and are retried") {
  WriterRig rig;
  rig.tree.directory("run/cdi");
  LeasedProgram hung(rig.tree.at(kCameraFile));
  rig.write("/dev/video0");
  rig.write("/dev/video1");
  run_once(rig.loop);
  CHECK(rig.told.empty());
  REQUIRE(rig.told_all(2));
  CHECK(rig.told[0] ==
        "the directory of CDI specifications, /run/cdi, does not respond: its file system hangs");
  CHECK(rig.told[1] == rig.told[0]);
  rig.write("/dev/video2");
  CHECK(rig.told.size() == 3);
  CHECK(rig.told[2] == rig.told[0]);

  hung.give_back();
  // Each caller is answered once, and the write under way is completed.
  REQUIRE(run_until(rig.loop, [&] { return contains(rig.content(), "/dev/video0"); }));
  REQUIRE(run_until(rig.loop, [&] {
    if (rig.told.back().empty()) return true;
    rig.write("/dev/video3");
    return rig.told.back().empty();
  }));
  CHECK(contains(rig.content(), "/dev/video3"));
}

TEST_CASE("CDI: cleaning up runs after earlier writes, and before later ones") {
  WriterRig rig;
  rig.tree.file("run/cdi/plughost-example.com_old.json");
  rig.write("/dev/video0");
  rig.writer->remove_others({kCamera});
  rig.write("/dev/video1");
  REQUIRE(rig.told_all(2));
  REQUIRE(run_until(rig.loop, [&] {
    return !std::filesystem::exists(rig.tree.at("run/cdi/plughost-example.com_old.json"));
  }));
  CHECK(contains(rig.content(), "/dev/video1"));
}

TEST_CASE("CDI: a late name's file is written or the error is reported, and the file is removed on request") {
  WriterRig rig;
  const std::string file = "run/cdi/plughost.late-1.json";
  std::vector<std::string> told;
  const auto write = [&] {
    rig.writer->write_late("late-1", "one", [&](const std::string& error) { told.push_back(error); });
  };
  write();
  REQUIRE(run_until(rig.loop, [&] { return told.size() == 1; }));
  CHECK(told[0].empty());
  CHECK(std::filesystem::exists(rig.tree.at(file)));
  rig.writer->remove_others({});
  rig.writer->remove_other_late({});
  REQUIRE(run_until(rig.loop, [&] { return !std::filesystem::exists(rig.tree.at(file)); }));
  rig.tree.directory(file + "/x");
  write();
  REQUIRE(run_until(rig.loop, [&] { return told.size() == 2; }));
  CHECK(contains(told[1], "plughost.late-1.json cannot be written"));
}

TEST_CASE("CDI: requests that are pending when the writer ends are carried out") {
  WriterRig rig;
  rig.write("/dev/video0");
  REQUIRE(rig.told_all(1));
  rig.write("/dev/video1");
  rig.writer->remove_others({});
  rig.write("/dev/video2");
  rig.writer->remove_others({});
  rig.writer.reset();
  REQUIRE(rig.told_all(3));
  CHECK(rig.told == std::vector<std::string>(3));
  CHECK(run_until(rig.loop, [&] { return !std::filesystem::exists(rig.tree.at(kCameraFile)); }));
}
