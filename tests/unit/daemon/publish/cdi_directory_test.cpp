#include "daemon/publish/cdi_places.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "config/config.hpp"
#include "unit/daemon/publish/camera_offer.hpp"
#include "unit/temp_dir.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

ino_t inode(const std::filesystem::path& file) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status.st_ino;
}

struct DirectoryRig {
  TempDir tree;
  HostRoot host{tree.path()};
  CdiDirectory cdi{host, "/run/cdi", "plughost"};
  std::shared_ptr<const AllocationSpec> spec = with_cdi();
};

}  // namespace

TEST_CASE("a specification is written completely, and readable for others under any umask") {
  const DirectoryRig rig;
  CdiDirectory cdi(rig.host, "/run/cdi", "plughost");
  const mode_t before = ::umask(0077);
  CHECK(cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  ::umask(before);
  CHECK(content(rig.tree.at(kCameraFile)).find("/dev/video0") != std::string::npos);
  struct stat status {};
  REQUIRE(::stat(rig.tree.at(kCameraFile).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
  REQUIRE(::stat(rig.tree.at("run/cdi").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0755);
}

TEST_CASE("an unchanged specification is not written again, even after a restart of plughost") {
  DirectoryRig rig;
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  const ino_t first = inode(rig.tree.at(kCameraFile));
  CHECK(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  CHECK(inode(rig.tree.at(kCameraFile)) == first);
  CdiDirectory next(rig.host, "/run/cdi", "plughost");
  CHECK(next.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  CHECK(inode(rig.tree.at(kCameraFile)) == first);
  CHECK(next.specify(snapshot_of(rig.spec, "/dev/video1")).empty());
  CHECK(content(rig.tree.at(kCameraFile)).find("/dev/video1") != std::string::npos);
}

TEST_CASE("a removed CDI file is written again at the next scan") {
  DirectoryRig rig;
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  rig.tree.remove(kCameraFile);
  CHECK(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  CHECK(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("a resource without a specification has no file, and its former file is removed") {
  DirectoryRig rig;
  CHECK(rig.cdi.specify(snapshot_of(std::make_shared<const AllocationSpec>(), "/dev/video0")).empty());
  CHECK_FALSE(std::filesystem::exists(rig.tree.at("run/cdi")));
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  ResourceSnapshot none = snapshot_of(rig.spec, "/dev/video0");
  none.inventory = {};
  CHECK(rig.cdi.specify(none).empty());
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("specifications of removed resources are deleted, and foreign files are not") {
  DirectoryRig rig;
  rig.tree.file("run/cdi/plughost-example.com_old.json");
  rig.tree.file("run/cdi/.plughost-plughost-example.com_camera.json.tmp");
  rig.tree.file("run/cdi/plughost.0123456789abcdef-example.com_camera.json");
  rig.tree.file("run/cdi/.plughost.0123456789abcdef-plughost.json.tmp");
  rig.tree.file("run/cdi/nvidia.yaml");
  rig.tree.file("run/cdi/other.json");
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  rig.cdi.remove_others({"example.com/camera"});
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(rig.tree.at("run/cdi")))
    left.insert(entry.path().filename());
  CHECK(left == std::set<std::string>{".plughost.0123456789abcdef-plughost.json.tmp", "nvidia.yaml",
                                      "other.json", "plughost-example.com_camera.json",
                                      "plughost.0123456789abcdef-example.com_camera.json"});
}

TEST_CASE("late names have their own files, and neither clean-up removes the files of the other kind") {
  DirectoryRig rig;
  CdiDirectory other(rig.host, "/run/cdi", "plughost.0123456789abcdef");
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  CHECK(rig.cdi.put_late("late-1", "one").empty());
  CHECK(rig.cdi.put_late("late-2", "two").empty());
  CHECK(other.put_late("late-1", "another's").empty());
  CHECK(content(rig.tree.at("run/cdi/plughost.late-1.json")) == "one");
  CHECK(rig.cdi.put_late("late-1", "once more").empty());
  rig.cdi.remove_others({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
  CHECK(content(rig.tree.at("run/cdi/plughost.late-1.json")) == "once more");
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  rig.cdi.remove_other_late({"late-2"});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at("run/cdi/plughost.late-1.json")));
  CHECK(content(rig.tree.at("run/cdi/plughost.late-2.json")) == "two");
  CHECK(content(rig.tree.at("run/cdi/plughost.0123456789abcdef.late-1.json")) == "another's");
  CHECK(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE(
    "a specification that cannot be written leaves no partial file, and the error contains the remedy") {
  DirectoryRig rig;
  rig.tree.file("run/cdi", "a file in the directory's place");
  const std::string why = rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0"));
  CHECK(
      why.starts_with("the CDI specification /run/cdi/plughost-example.com_camera.json cannot be written: "));
  CHECK(why.find("`cdi: {directory: …}`") != std::string::npos);
  rig.tree.remove("run/cdi");
  CHECK(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  // A directory in place of the file makes rename() fail after the write.
  DirectoryRig other;
  other.tree.directory(kCameraFile + "/x");
  CHECK_FALSE(other.cdi.specify(snapshot_of(other.spec, "/dev/video0")).empty());
  for (const auto& entry : std::filesystem::directory_iterator(other.tree.at("run/cdi")))
    CHECK(entry.path().filename() == "plughost-example.com_camera.json");
}

TEST_CASE("each kubelet's plughost has its own CDI files, and the default kubelet's uses the plain name") {
  CHECK(KubeletConfig{}.files_owner() == "plughost");
  const std::string other =
      KubeletConfig{.directory = "/var/snap/microk8s/common/var/lib/kubelet/device-plugins"}.files_owner();
  CHECK(other.starts_with("plughost."));
  CHECK(other != KubeletConfig{.directory = "/srv/kubelet/device-plugins"}.files_owner());
  DirectoryRig rig;
  CdiDirectory second(rig.host, "/run/cdi", other);
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  REQUIRE(second.specify(snapshot_of(rig.spec, "/dev/video1", "example.com/other")).empty());
  rig.cdi.remove_others({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
  const std::string file = "run/cdi/" + other + "-example.com_other.json";
  CHECK(std::filesystem::exists(rig.tree.at(file)));
  REQUIRE(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  second.remove_others({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(file)));
  CHECK(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("a link in the place of the temporary file is not followed") {
  DirectoryRig rig;
  rig.tree.file("precious", "words");
  rig.tree.link("run/cdi/.plughost-plughost-example.com_camera.json.tmp", rig.tree.at("precious"));
  CHECK(rig.cdi.specify(snapshot_of(rig.spec, "/dev/video0")).empty());
  CHECK(content(rig.tree.at("precious")) == "words");
  CHECK_FALSE(std::filesystem::is_symlink(rig.tree.at(kCameraFile)));
  CHECK(content(rig.tree.at(kCameraFile)).find("/dev/video0") != std::string::npos);
}
