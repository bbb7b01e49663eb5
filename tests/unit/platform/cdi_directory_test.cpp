#include "platform/cdi_directory.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <map>

#include "unit/platform/camera_offer.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream text(file);
  return {std::istreambuf_iterator<char>(text), {}};
}

ino_t inode(const std::filesystem::path& file) {
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status.st_ino;
}

struct Rig {
  TempDir tree;
  HostRoot host{tree.path()};
  CdiDirectory cdi{host, "/run/cdi", "plughost"};
  std::shared_ptr<const Recipe> recipe = with_cdi();
};

}  // namespace

TEST_CASE("a specification is there whole, and others can read it, whatever the umask is") {
  const Rig rig;
  CdiDirectory cdi(rig.host, "/run/cdi", "plughost");
  const mode_t before = ::umask(0077);
  CHECK(cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  ::umask(before);
  CHECK(content(rig.tree.at(kCameraFile)).find("/dev/video0") != std::string::npos);
  struct stat status {};
  REQUIRE(::stat(rig.tree.at(kCameraFile).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
  REQUIRE(::stat(rig.tree.at("run/cdi").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0755);
}

TEST_CASE("what has not changed is not written again, not even by the next plughost") {
  Rig rig;
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  const ino_t first = inode(rig.tree.at(kCameraFile));
  CHECK(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  CHECK(inode(rig.tree.at(kCameraFile)) == first);
  CdiDirectory next(rig.host, "/run/cdi", "plughost");
  CHECK(next.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  CHECK(inode(rig.tree.at(kCameraFile)) == first);
  CHECK(next.specify(offer_of(rig.recipe, "/dev/video1")).empty());
  CHECK(content(rig.tree.at(kCameraFile)).find("/dev/video1") != std::string::npos);
}

TEST_CASE("a file that somebody removed is back with the next look") {
  Rig rig;
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  rig.tree.remove(kCameraFile);
  CHECK(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  CHECK(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("a resource without a specification has no file, and loses one that it had") {
  Rig rig;
  CHECK(rig.cdi.specify(offer_of(std::make_shared<const Recipe>(), "/dev/video0")).empty());
  CHECK_FALSE(std::filesystem::exists(rig.tree.at("run/cdi")));
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  Offer none = offer_of(rig.recipe, "/dev/video0");
  none.inventory = {};
  CHECK(rig.cdi.specify(none).empty());
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("what no resource has any more is removed, and nothing that others wrote") {
  Rig rig;
  rig.tree.file("run/cdi/plughost-example.com_old.json");
  rig.tree.file("run/cdi/.plughost-plughost-example.com_camera.json.tmp");
  rig.tree.file("run/cdi/plughost.0123456789abcdef-example.com_camera.json");
  rig.tree.file("run/cdi/.plughost.0123456789abcdef-plughost.json.tmp");
  rig.tree.file("run/cdi/nvidia.yaml");
  rig.tree.file("run/cdi/other.json");
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  rig.cdi.keep({"example.com/camera"});
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(rig.tree.at("run/cdi")))
    left.insert(entry.path().filename());
  CHECK(left == std::set<std::string>{".plughost.0123456789abcdef-plughost.json.tmp", "nvidia.yaml",
                                      "other.json", "plughost-example.com_camera.json",
                                      "plughost.0123456789abcdef-example.com_camera.json"});
}

TEST_CASE("a specification that cannot be written is no half file, and the reason says what to do") {
  Rig rig;
  rig.tree.file("run/cdi", "a file in the directory's place");
  const std::string why = rig.cdi.specify(offer_of(rig.recipe, "/dev/video0"));
  CHECK(
      why.starts_with("the CDI specification /run/cdi/plughost-example.com_camera.json cannot be written: "));
  CHECK(why.find("`cdi: {directory: …}`") != std::string::npos);
  rig.tree.remove("run/cdi");
  CHECK(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  // A directory where the file would be: rename fails when all is written.
  Rig other;
  other.tree.directory(kCameraFile + "/x");
  CHECK_FALSE(other.cdi.specify(offer_of(other.recipe, "/dev/video0")).empty());
  for (const auto& entry : std::filesystem::directory_iterator(other.tree.at("run/cdi")))
    CHECK(entry.path().filename() == "plughost-example.com_camera.json");
}

TEST_CASE("each kubelet's plughost has files of its own, and the usual one's have the plain name") {
  CHECK(cdi_owner("/var/lib/kubelet/device-plugins") == "plughost");
  const std::string other = cdi_owner("/var/snap/microk8s/common/var/lib/kubelet/device-plugins");
  CHECK(other.starts_with("plughost."));
  CHECK(other != cdi_owner("/srv/kubelet/device-plugins"));
  Rig rig;
  CdiDirectory second(rig.host, "/run/cdi", other);
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  REQUIRE(second.specify(offer_of(rig.recipe, "/dev/video1", "example.com/other")).empty());
  rig.cdi.keep({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
  const std::string file = "run/cdi/" + other + "-example.com_other.json";
  CHECK(std::filesystem::exists(rig.tree.at(file)));
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  second.keep({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(file)));
  CHECK(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("a link where the unfinished file goes is not followed") {
  Rig rig;
  rig.tree.file("precious", "words");
  rig.tree.link("run/cdi/.plughost-plughost-example.com_camera.json.tmp", rig.tree.at("precious"));
  CHECK(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  CHECK(content(rig.tree.at("precious")) == "words");
  CHECK_FALSE(std::filesystem::is_symlink(rig.tree.at(kCameraFile)));
  CHECK(content(rig.tree.at(kCameraFile)).find("/dev/video0") != std::string::npos);
}

TEST_CASE("late devices have files of their own, and each kind is left alone by the other's tidying") {
  Rig rig;
  CdiDirectory other(rig.host, "/run/cdi", "plughost.0123456789abcdef");
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  CHECK(rig.cdi.put_late("late-1", "one").empty());
  CHECK(rig.cdi.put_late("late-2", "two").empty());
  CHECK(other.put_late("late-1", "another's").empty());
  CHECK(content(rig.tree.at("run/cdi/plughost.late-1.json")) == "one");
  CHECK(rig.cdi.put_late("late-1", "once more").empty());
  rig.cdi.keep({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
  CHECK(content(rig.tree.at("run/cdi/plughost.late-1.json")) == "once more");
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  rig.cdi.keep_late({"late-2"});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at("run/cdi/plughost.late-1.json")));
  CHECK(content(rig.tree.at("run/cdi/plughost.late-2.json")) == "two");
  CHECK(content(rig.tree.at("run/cdi/plughost.0123456789abcdef.late-1.json")) == "another's");
  CHECK(std::filesystem::exists(rig.tree.at(kCameraFile)));
}

TEST_CASE("claims have files of their own, which the tidying of resources leaves alone") {
  Rig rig;
  CdiDirectory other(rig.host, "/run/cdi", "plughost.0123456789abcdef");
  CHECK(rig.cdi.claims().files.empty());
  CHECK(rig.cdi.claims().trouble.empty());
  CHECK(rig.cdi.remove_claim("u-1").empty());
  CHECK(rig.cdi.put_claim("u-1", "one").empty());
  CHECK(rig.cdi.put_claim("u-2", "two").empty());
  CHECK(other.put_claim("u-1", "another's").empty());
  CHECK(content(rig.tree.at("run/cdi/plughost-claim-u-1.json")) == "one");
  const ino_t first = inode(rig.tree.at("run/cdi/plughost-claim-u-1.json"));
  CHECK(rig.cdi.put_claim("u-1", "one").empty());
  CHECK(inode(rig.tree.at("run/cdi/plughost-claim-u-1.json")) == first);
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  rig.cdi.keep({});
  rig.cdi.keep_late({});
  CHECK_FALSE(std::filesystem::exists(rig.tree.at(kCameraFile)));
  rig.tree.directory("run/cdi/plughost-claim-u-3.json");
  rig.tree.file("run/cdi/plughost-claim-u-4.json", std::string((std::size_t{1} << 20u) + 1, ' '));
  rig.tree.file("run/cdi/plughost-claim-u-5.json", std::string(std::size_t{1} << 20u, ' '));
  rig.tree.file("run/cdi/plughost-claim-u.6.json", "no UID");
  const std::string too_large = "it cannot be read, or is too large";
  std::map<std::string, bool> found;  // may its content be looked at?
  for (const ClaimFiles::File& file : rig.cdi.claims().files)
    found[file.uid] = std::get<std::string>(file.claim) != too_large;
  CHECK(found == std::map<std::string, bool>{
                     {"u-1", true}, {"u-2", true}, {"u-3", false}, {"u-4", false}, {"u-5", true}});
  CHECK(rig.cdi.remove_claim("u-1").empty());
  CHECK_FALSE(std::filesystem::exists(rig.tree.at("run/cdi/plughost-claim-u-1.json")));
  CHECK(content(rig.tree.at("run/cdi/plughost.0123456789abcdef-claim-u-1.json")) == "another's");
}

TEST_CASE("of a claim's file is told whose it is and what it says, or why that cannot be read") {
  Rig rig;
  const PreparedClaim claim{
      .ref = {.uid = "u-1", .name_space = "default", .name = "camera"},
      .devices = {{.allocated = {.request = "camera", .pool = "worker-1/x.com/camera", .device = "video0"},
                   .cdi = {"x.com/camera=video0"}}},
      .consumers = {}};
  const auto text = claim_specification("plughost.x.com", claim, {});
  REQUIRE(text);
  REQUIRE(rig.cdi.put_claim("u-1", *text).empty());
  REQUIRE(rig.cdi.put_claim("u-2", R"({"kind": "plughost.x.com/claim"})").empty());
  REQUIRE(rig.cdi.put_claim("u-3", R"({"kind": "../claim"})").empty());
  REQUIRE(rig.cdi.put_claim("u-4", "{").empty());
  std::map<std::string, ClaimFiles::File> files;
  for (const ClaimFiles::File& file : rig.cdi.claims().files) files[file.uid] = file;
  REQUIRE(files.size() == 4);
  CHECK(files["u-1"].driver == "plughost.x.com");
  CHECK(files["u-1"].text == *text);
  REQUIRE(std::holds_alternative<PreparedClaim>(files["u-1"].claim));
  CHECK(std::get<PreparedClaim>(files["u-1"].claim) == claim);
  CHECK(files["u-2"].driver == "plughost.x.com");
  CHECK(std::get<std::string>(files["u-2"].claim) == "its annotations do not say whose it is");
  CHECK(files["u-3"].driver.empty());
  CHECK(std::get<std::string>(files["u-3"].claim).starts_with("its kind is \"../claim\""));
  CHECK(files["u-4"].driver.empty());
  CHECK_FALSE(std::get<std::string>(files["u-4"].claim).empty());
}

TEST_CASE("a directory of claims that cannot be read is told, and what to do") {
  Rig rig;
  rig.tree.file("run/cdi", "a file in the directory's place");
  const ClaimFiles claims = rig.cdi.claims();
  CHECK(claims.files.empty());
  CHECK(claims.trouble.starts_with("the directory of CDI specifications, /run/cdi, cannot be read: "));
  rig.tree.remove("run/cdi");
  rig.tree.directory("run/cdi/plughost-claim-u-1.json/x");
  CHECK(rig.cdi.remove_claim("u-1").find("/run/cdi/plughost-claim-u-1.json cannot be removed") !=
        std::string::npos);
}

TEST_CASE(
    "what the specifications of resources say of devices whose interfaces move is read, and nothing else") {
  Rig rig;
  Recipe recipe;
  recipe.cdi = CdiNames::kCri;
  recipe.net_devices = {{.host_name = Template("{id}"), .name = Template("{id}")}};
  const auto moving = std::make_shared<const Recipe>(recipe);
  CHECK(rig.cdi.noted().empty());
  REQUIRE(rig.cdi.specify(offer_of(rig.recipe, "/dev/video0")).empty());
  REQUIRE(rig.cdi.specify(offer_of(moving, "/dev/tap0", "example.com/uplink")).empty());
  CdiDirectory other(rig.host, "/run/cdi", "plughost.0123456789abcdef");
  REQUIRE(other.specify(offer_of(moving, "/dev/tap1", "example.com/other")).empty());
  const std::string text = content(rig.tree.at("run/cdi/plughost-example.com_uplink.json"));
  rig.tree.file("run/cdi/plughost-claim-u-1.json", text);
  rig.tree.file("run/cdi/plughost-example.com_half.json", text.substr(0, 100));
  rig.tree.directory("run/cdi/plughost-example.com_directory.json");
  const auto noted = rig.cdi.noted();
  REQUIRE(noted.size() == 1);
  CHECK(noted[0].resource == "example.com/uplink");
  const Offer uplinks = offer_of(moving, "/dev/tap0");
  CHECK(noted[0].devices ==
        std::vector<Device>(uplinks.inventory.devices().begin(), uplinks.inventory.devices().end()));
}
