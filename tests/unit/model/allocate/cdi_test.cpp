#include "model/allocate/cdi.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "model/allocate/allocation.hpp"
#include "unit/made_specification.hpp"

namespace plughost {
namespace {

using JsonValue = nlohmann::json;
using Texts = std::vector<std::string>;

const std::string kCamera = "example.com/camera";

Device camera(const std::string& id, const std::string& path) {
  Device device;
  device.id = id;
  device.attributes = {{"path", path}};
  device.nodes = {{.host_path = path, .container_path = path}};
  return device;
}

AllocationSpec with_cdi(CdiNames way = CdiNames::kCri) {
  AllocationSpec spec;
  spec.name = Template(kCamera);
  spec.cdi = way;
  return spec;
}

Allocation allocate(const AllocationSpec& spec, const std::vector<Device>& devices, const Texts& ids) {
  auto answer = allocate(kCamera, spec, Inventory(devices), ids);
  const Refusal* refusal = std::get_if<Refusal>(&answer);
  REQUIRE_MESSAGE(!refusal, (refusal ? refusal->text : ""));
  return std::get<Allocation>(answer);
}

JsonValue specification(const AllocationSpec& spec, const std::vector<Device>& devices) {
  const std::string text = cdi_specification(kCamera, spec, Inventory(devices));
  test::keep_specification(text);
  return text.empty() ? JsonValue() : JsonValue::parse(text);
}

// Returns true if CDI's pkg/parser.ValidateDeviceName accepts the name.
bool is_device_name(const std::string& name) {
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !name.empty() && alphanumeric(name.front()) && alphanumeric(name.back()) &&
         std::ranges::all_of(
             name, [&](char c) { return alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':'; });
}

TEST_CASE("ids that are valid CDI names stay unchanged") {
  for (const char* id : {"video0", "0000:03:00.0", "GPU-8dd9c3a1-0b0c-4e1e-8f3e-2f0b9a6b1c11", "1a86:7523:A5",
                         "usb-FTDI_FT232R", "7"}) {
    CAPTURE(id);
    CHECK(cdi_device_name(id) == id);
  }
}

TEST_CASE("every id has a unique CDI name") {
  const Texts ids = {
      "a/b",   "a_x2Fb", "a_x5Fx2Fb",         "/a",     "x_x00/a", "x_x00_x2Fa", "_a",   "x_x00_a", "a_",
      "a_x5F", "-",      "x_x00_x2D",         "a-",     "a.",      "a:",         ":",    "a b",     "a%20b",
      "gerät", "a=b",    "example.com/gpu-0", "a__x41", "a_xA",    "_x",         "x_x00"};
  std::set<std::string> names;
  for (const std::string& id : ids) {
    CAPTURE(id);
    const std::string name = cdi_device_name(id);
    CHECK(is_device_name(name));
    CHECK(names.insert(name).second);
  }
  CHECK(cdi_device_name("example.com/gpu-0") == "example.com_x2Fgpu-0");
}

TEST_CASE("a device's nodes are in the CDI specification, and the response has the CDI name instead") {
  const std::vector<Device> devices = {camera("video0", "/dev/video0"), camera("video1", "/dev/video1")};
  const Allocation answer = allocate(with_cdi(), devices, {"video1", "video0"});
  CHECK(answer.nodes.empty());
  CHECK(answer.cdi == Texts{"example.com/camera=video1", "example.com/camera=video0"});
  CHECK(answer.by_cdi.nodes.size() == 2);
  const JsonValue json = specification(with_cdi(), devices);
  CHECK(json["cdiVersion"] == "0.5.0");
  CHECK(json["kind"] == kCamera);
  REQUIRE(json["devices"].size() == 2);
  const JsonValue node = {{"path", "/dev/video0"}, {"hostPath", "/dev/video0"}, {"permissions", "rw"}};
  CHECK(json["devices"][0]["name"] == "video0");
  CHECK(json["devices"][0]["containerEdits"]["deviceNodes"] == JsonValue::array({node}));
}

TEST_CASE(
    "a node that is named by a link has the target in the specification, because a runtime refuses a link") {
  AllocationSpec spec = with_cdi();
  spec.nodes = {{.host_path = Template("/dev/by-id/{id}"), .container_path = Template("/dev/other")}};
  Device device = camera("a", "/dev/video-of-a");
  device.cdi_nodes = {{"/dev/video-of-a", "/dev/video7"}, {"/dev/by-id/a", "/dev/media3"}};
  const JsonValue nodes = specification(spec, {device})["devices"][0]["containerEdits"]["deviceNodes"];
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0]["hostPath"] == "/dev/video7");
  CHECK(nodes[0]["path"] == "/dev/video-of-a");
  CHECK(nodes[1]["hostPath"] == "/dev/media3");
  CHECK(nodes[1]["path"] == "/dev/other");
}

TEST_CASE("with `access: group` the container's processes get the groups of the device's nodes") {
  Device device = camera("a", "/dev/a");
  device.nodes.push_back({.host_path = "/dev/b", .container_path = "/dev/b"});
  device.nodes.push_back({.host_path = "/dev/c", .container_path = "/dev/c"});
  device.cdi_nodes = {{"/dev/a", "/dev/a", 44}, {"/dev/b", "/dev/video7", 27}, {"/dev/c", "/dev/c", 44}};
  const JsonValue json = specification(with_cdi(), {device, camera("root's", "/dev/d")});
  CHECK(json["cdiVersion"] == "0.7.0");
  CHECK(json["devices"][0]["containerEdits"]["additionalGids"] == JsonValue::array({27, 44}));
  const JsonValue node = {
      {"path", "/dev/b"}, {"hostPath", "/dev/video7"}, {"permissions", "rw"}, {"gid", 27}};
  CHECK(json["devices"][0]["containerEdits"]["deviceNodes"][1] == node);
  CHECK_FALSE(json["devices"][1]["containerEdits"].contains("additionalGids"));
  device.cdi_nodes = {{"/dev/b", "/dev/video7", 0}};
  CHECK(specification(with_cdi(), {device})["cdiVersion"] == "0.5.0");
}

TEST_CASE(
    "the entry's nodes and mounts, and variables named after a device, are in the specification of each "
    "device") {
  AllocationSpec spec = with_cdi();
  spec.nodes = {{Template("/dev/fuse"), Template("/dev/fuse"), "rwm"}};
  spec.mounts = {{Template("/etc/cameras/{id}"), Template("/etc/camera/{id}"), true}};
  spec.env = {{Template("PATH_OF_{id}"), Template("{path} of {resource}")}};
  const std::vector<Device> devices = {camera("video0", "/dev/video0")};
  const JsonValue edits = specification(spec, devices)["devices"][0]["containerEdits"];
  CHECK(edits["env"] == JsonValue::array({"PATH_OF_video0=/dev/video0 of example.com/camera"}));
  CHECK(edits["deviceNodes"].size() == 2);
  CHECK(edits["deviceNodes"][1]["permissions"] == "rwm");
  const JsonValue mount = {{"hostPath", "/etc/cameras/video0"},
                           {"containerPath", "/etc/camera/video0"},
                           {"options", {"ro", "rbind", "rprivate"}}};
  CHECK(edits["mounts"] == JsonValue::array({mount}));
  const Allocation answer = allocate(spec, devices, {"video0"});
  CHECK(answer.env.empty());
  CHECK(answer.mounts.empty());
  CHECK(answer.by_cdi.env.at("PATH_OF_video0") == "/dev/video0 of example.com/camera");
}

TEST_CASE("values that join or count devices stay in the response") {
  AllocationSpec spec = with_cdi();
  spec.env = {{Template("CAMERAS"), Template("{id}")},
              {Template("COUNT"), Template("{count}")},
              {Template("CAMERA_{n}"), Template("{id}")},
              {Template("OF_{id}"), Template("{id} of {count}")},
              {Template("MODE"), Template("fast")}};
  spec.annotations = {{Template("example.com/cameras"), Template("{id}")}};
  const std::vector<Device> devices = {camera("video0", "/dev/video0"), camera("video1", "/dev/video1")};
  const Allocation answer = allocate(spec, devices, {"video0", "video1"});
  CHECK(answer.env.size() == 7);
  CHECK(answer.env.at("CAMERAS") == "video0,video1");
  CHECK(answer.annotations.size() == 1);
  CHECK(answer.by_cdi.env.empty());
  CHECK_FALSE(specification(spec, devices)["devices"][0]["containerEdits"].contains("env"));
}

TEST_CASE("a kind's own path with a position stays in the response") {
  Device device = camera("a", "/dev/a");
  device.nodes.push_back({.host_path = "/dev/b", .container_path = "/dev/b{n}"});
  const Allocation answer = allocate(with_cdi(), {device}, {"a"});
  REQUIRE(answer.nodes.size() == 1);
  CHECK(answer.nodes[0].container_path == "/dev/b0");
  CHECK(answer.by_cdi.nodes.size() == 1);
}

TEST_CASE("an annotation carries the names for older kubelets") {
  const std::vector<Device> devices = {camera("video0", "/dev/video0"), camera("video1", "/dev/video1")};
  const Allocation answer = allocate(with_cdi(CdiNames::kAnnotations), devices, {"video0", "video1"});
  CHECK(answer.cdi.empty());
  REQUIRE(answer.annotations.size() == 1);
  const auto& [key, names] = *answer.annotations.begin();
  CHECK(key.starts_with("cdi.k8s.io/plughost_"));
  CHECK(key.size() - key.find('/') - 1 <= 63);
  CHECK(names == "example.com/camera=video0,example.com/camera=video1");
}

TEST_CASE("a device without nodes, mounts and variables has no CDI name, and alone no specification") {
  Device bare;
  bare.id = "bare";
  CHECK(allocate(with_cdi(), {bare}, {"bare"}).cdi.empty());
  CHECK(specification(with_cdi(), {bare}).is_null());
  const std::vector<Device> both = {bare, camera("video0", "/dev/video0")};
  CHECK(specification(with_cdi(), both)["devices"].size() == 1);
  CHECK(allocate(with_cdi(), both, {"bare", "video0"}).cdi == Texts{"example.com/camera=video0"});
}

TEST_CASE("two nodes with one path in the container are refused, also if CDI adds them") {
  Device one = camera("one", "/dev/one");
  Device other = camera("other", "/dev/other");
  one.nodes[0].container_path = other.nodes[0].container_path = "/dev/camera";
  const auto answer = allocate(kCamera, with_cdi(), Inventory({one, other}), Texts{"one", "other"});
  REQUIRE(std::holds_alternative<Refusal>(answer));
  CHECK(std::get<Refusal>(answer).text.find("/dev/camera in the container would be both") !=
        std::string::npos);
}

TEST_CASE("a device that is gone is not in the specification, and an Unhealthy one is") {
  Device gone = camera("video0", "/dev/video0");
  gone.gone = true;
  gone.error = "it is gone";
  Device sick = camera("video1", "/dev/video1");
  sick.error = "no signal";
  const JsonValue json = specification(with_cdi(), {gone, sick});
  REQUIRE(json["devices"].size() == 1);
  CHECK(json["devices"][0]["name"] == "video1");
}

TEST_CASE("replicas of a device share its name") {
  Device device = camera("video0", "/dev/video0");
  device.replicas = 4;
  CHECK(allocate(with_cdi(), {device}, {"video0::1", "video0::3"}).cdi == Texts{"example.com/camera=video0"});
}

TEST_CASE("the version is the oldest that has the used features") {
  const std::string text =
      cdi_specification("example.com/cam.era", with_cdi(), Inventory({camera("a", "/dev/a")}));
  CHECK(JsonValue::parse(text)["cdiVersion"] == "0.6.0");
}

TEST_CASE("a CDI specification ends with a newline") {
  const Device device = camera("a", "/dev/a");
  CHECK(cdi_specification(kCamera, with_cdi(), Inventory({device})).ends_with("}\n"));
  CHECK(cdi_specification(kCamera, "late-1", {}, device).ends_with("}\n"));
}

TEST_CASE("a specification for a single name can be written with given edits") {
  Device device = camera("a", "/dev/a");
  device.cdi_nodes = {{"/dev/by-id/a", "/dev/a"}};
  const CdiEdits edits{.env = {{"A", "1"}},
                       .mounts = {{.host_path = "/m", .container_path = "/n", .read_only = true}},
                       .nodes = {{.host_path = "/dev/by-id/a", .container_path = "/dev/b"}}};
  const JsonValue one = JsonValue::parse(cdi_specification("example.com/camera", "late-1", edits, device));
  CHECK(one["kind"] == "example.com/camera");
  CHECK(one["cdiVersion"] == "0.5.0");
  REQUIRE(one["devices"].size() == 1);
  CHECK(one["devices"][0]["name"] == "late-1");
  CHECK(one["devices"][0]["containerEdits"]["env"] == JsonValue{"A=1"});
  CHECK(one["devices"][0]["containerEdits"]["mounts"][0]["hostPath"] == "/m");
  CHECK(one["devices"][0]["containerEdits"]["deviceNodes"][0]["path"] == "/dev/b");
  CHECK(one["devices"][0]["containerEdits"]["deviceNodes"][0]["hostPath"] == "/dev/a");
}

TEST_CASE("a name that CDI does not allow is reported") {
  CHECK(cdi_kind_error("example.com/camera").empty());
  CHECK(cdi_kind_error("example.com/3d").find("begin with a letter") != std::string::npos);
  CHECK(cdi_kind_error("0.example.com/camera").find("begin with a letter") != std::string::npos);
  const auto answer = allocate("example.com/3d", with_cdi(), Inventory({camera("a", "/dev/a")}), Texts{"a"});
  CHECK(std::holds_alternative<Refusal>(answer));
}

TEST_CASE("each resource has its own file") {
  CHECK(cdi_file_name("plughost", "example.com/camera") == "plughost-example.com_camera.json");
  CHECK(cdi_file_name("plughost", "a-b/c") != cdi_file_name("plughost", "a/b-c"));
}

}  // namespace
}  // namespace plughost
