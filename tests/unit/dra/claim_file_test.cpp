#include "dra/claim_file.hpp"

#include <doctest/doctest.h>

#include "device/cdi.hpp"

namespace plughost {
namespace {

constexpr const char* kDriver = "plughost.example.com";
constexpr const char* kUid = "0d1c-77";

PreparedClaim claim_of_a_camera() {
  PreparedClaim claim;
  claim.ref = {.uid = kUid, .name_space = "default", .name = "camera"};
  claim.devices = {{.allocated = {.request = "camera/small",
                                  .pool = "node-a/example.com/camera",
                                  .device = "video0",
                                  .admin_access = true,
                                  .share_id = "5b0f",
                                  .consumed = {{"memory", 4096}, {"example.com/x", 0}}},
                    .cdi = {"example.com/camera=video0", "plughost.example.com/claim=0d1c-77-camera"},
                    .pre_start = true},
                   {.allocated = {.request = "sound", .pool = "node-a/example.com/sound", .device = "card1"},
                    .cdi = {"example.com/sound=card1"}}};
  claim.consumers = {{.uid = "p-1", .name = "one"}, {.uid = "p-2", .name = "two"}};
  return claim;
}

std::map<std::string, CdiEdits> some_edits() {
  CdiEdits edits;
  edits.env = {{"CAMERAS", "video0"}};
  edits.mounts = {{.host_path = "/etc/cameras", .container_path = "/etc/camera", .read_only = true}};
  return {{"camera", edits}};
}

std::string text_of(const PreparedClaim& claim, const std::map<std::string, CdiEdits>& edits) {
  const auto text = claim_specification(kDriver, claim, edits);
  REQUIRE(text);
  return *text;
}

std::string why_not(const Json& json, std::string_view driver = kDriver) {
  const auto read = parse_claim_specification(json, driver, kUid);
  const auto* const why = std::get_if<std::string>(&read);
  return why ? *why : "it was read";
}

TEST_CASE("what was written of a claim is read again, all of it") {
  const PreparedClaim claim = claim_of_a_camera();
  const Json json = Json::parse(text_of(claim, some_edits()));
  const auto read = parse_claim_specification(json, kDriver, kUid);
  REQUIRE(std::holds_alternative<PreparedClaim>(read));
  CHECK(std::get<PreparedClaim>(read) == claim);
  CHECK(text_of(std::get<PreparedClaim>(read), some_edits()) == text_of(claim, some_edits()));
}

TEST_CASE("what a device is stands in the claim's file, blanks and all, unless it is too much") {
  PreparedClaim claim = claim_of_a_camera();
  DeviceIdentity& identity = claim.devices[0].identity;
  identity = {
      .uuid = "GPU-1", .card = "GPU-2", .pci = "0000:3b:00.0", .places = {"/dev/a b", "/dev/50%20 %25"}};
  const auto again = [&] {
    return std::get<PreparedClaim>(parse_claim_specification(Json::parse(text_of(claim, {})), kDriver, kUid));
  };
  CHECK(again() == claim);
  identity.places.clear();
  for (int n = 0; n < 16; ++n) identity.places.insert("/dev/" + std::to_string(n));
  CHECK(again() == claim);
  identity.places.insert("/dev/one more");
  CHECK(again().devices[0].identity.places.empty());
  CHECK(again().devices[0].identity.uuid == "GPU-1");
  CHECK(again().devices[1] == claim.devices[1]);
}

TEST_CASE("a claim's file is a CDI specification with a device for each request that adds something") {
  const Json json = Json::parse(text_of(claim_of_a_camera(), some_edits()));
  CHECK(json["cdiVersion"].text() == "0.6.0");
  CHECK(json["kind"].text() == "plughost.example.com/claim");
  REQUIRE(json["devices"].array().size() == 1);
  const Json& device = json["devices"].array()[0];
  CHECK(device["name"].text() == "0d1c-77-camera");
  CHECK(device["containerEdits"] == cdi_edits_json(some_edits()["camera"]));
  CHECK(claim_cdi_name(kDriver, kUid, "camera") == "plughost.example.com/claim=0d1c-77-camera");
  CHECK(json["annotations"]["plughost.io/namespace"].text() == "default");
  CHECK(json["annotations"]["plughost.io/name"].text() == "camera");
}

TEST_CASE("a claim that adds nothing has one device that nobody names, because CDI wants one") {
  const Json json = Json::parse(text_of(claim_of_a_camera(), {}));
  REQUIRE(json["devices"].array().size() == 1);
  CHECK(json["devices"].array()[0]["name"].text() == kUid);
  CHECK(json["devices"].array()[0]["containerEdits"] == Json{{"env", Json::Array{"PLUGHOST_CLAIM=0d1c-77"}}});
  CHECK(why_not(json) == "it was read");
}

TEST_CASE("the answer has each device with its request, its share and its names") {
  const std::vector<PreparedDevice> answer = claim_of_a_camera().answer();
  REQUIRE(answer.size() == 2);
  CHECK(answer[0] ==
        PreparedDevice{.requests = {"camera"},
                       .pool = "node-a/example.com/camera",
                       .device = "video0",
                       .cdi = {"example.com/camera=video0", "plughost.example.com/claim=0d1c-77-camera"},
                       .share_id = "5b0f"});
  CHECK(answer[1].requests == std::vector<std::string>{"sound"});
  CHECK(answer[1].device == "card1");
  CHECK_FALSE(answer[1].share_id);
}

TEST_CASE("a file that is another's, or was cut, is no claim's") {
  const Json json = Json::parse(text_of(claim_of_a_camera(), some_edits()));
  CHECK(why_not(json, "other.example.com") ==
        "its kind is \"plughost.example.com/claim\", and not other.example.com/claim");
  CHECK(why_not(Json()).starts_with("its kind is \"\""));
  CHECK(why_not(Json("text")).starts_with("its kind is \"\""));
  Json no_name = json;
  no_name["annotations"]["plughost.io/name"] = Json();
  CHECK(why_not(no_name) == "its annotations do not say whose it is");
  Json no_namespace = json;
  no_namespace["annotations"]["plughost.io/namespace"] = 7;
  CHECK(why_not(no_namespace) == "its annotations do not say whose it is");
  Json no_device = json;
  no_device["annotations"]["plughost.io/device-0"] = Json();
  CHECK(why_not(no_device) == "its annotations name no device");
  for (const char* const text :
       {"", "request", "request=a", "request=a pool=b device=c", "request=a pool=b cdi=d",
        "request=a device=c cdi=d", "pool=b device=c cdi=d", "request=a pool=b device=c cdi=d consumed:m=x",
        "request=a pool=b device=c cdi=d  "}) {
    CAPTURE(text);
    Json bad = json;
    bad["annotations"]["plughost.io/device-1"] = text;
    CHECK(why_not(bad) == "the annotation plughost.io/device-1 is no device");
  }
  Json newer = json;
  newer["annotations"]["plughost.io/device-1"] = "request=a pool=b device=c cdi=d later=e";
  CHECK(why_not(newer) == "it was read");
  Json no_pod = json;
  no_pod["annotations"]["plughost.io/pod-1"] = "u-1";
  CHECK(why_not(no_pod) == "the annotation plughost.io/pod-1 is no pod");
}

TEST_CASE("a claim whose annotations CDI would not take has no file") {
  PreparedClaim claim = claim_of_a_camera();
  claim.devices[1].cdi = {"example.com/sound=" + std::string(std::size_t{256} << 10u, 'a')};
  CHECK_FALSE(claim_specification(kDriver, claim, {}));
  claim.devices[1].cdi = {"example.com/sound=" + std::string(std::size_t{255} << 10u, 'a')};
  CHECK(claim_specification(kDriver, claim, {}));
}

TEST_CASE("annotations may have 256 KiB, their names with them, and a file a mebibyte") {
  PreparedClaim claim = claim_of_a_camera();
  const auto size = [&] {
    std::size_t sum = 0;
    const Json json = Json::parse(text_of(claim, {}));
    for (const auto& [key, value] : json["annotations"].object()) sum += key.size() + value.text().size();
    return sum;
  };
  claim.devices[1].cdi[0] += std::string((std::size_t{256} << 10u) - size(), 'a');
  CHECK(size() == std::size_t{256} << 10u);
  claim.devices[1].cdi[0] += 'a';
  CHECK_FALSE(claim_specification(kDriver, claim, {}));
  claim = claim_of_a_camera();
  auto edits = some_edits();
  edits["camera"].env["MUCH"] = std::string(kMostClaimFile / 2, 'x');
  CHECK(claim_specification(kDriver, claim, edits));
  edits["camera"].env["MUCH"] = std::string(kMostClaimFile, 'x');
  CHECK_FALSE(claim_specification(kDriver, claim, edits));
}

TEST_CASE("as many devices and pods as a claim can have are read again") {
  PreparedClaim claim = claim_of_a_camera();
  claim.devices.resize(128, claim.devices[1]);
  claim.consumers.resize(256, claim.consumers[1]);
  const auto read = parse_claim_specification(Json::parse(text_of(claim, {})), kDriver, kUid);
  REQUIRE(std::holds_alternative<PreparedClaim>(read));
  CHECK(std::get<PreparedClaim>(read) == claim);
  Json json = Json::parse(text_of(claim, {}));
  json["annotations"]["plughost.io/device-0"] =
      "request=a pool=b device=c adminAccess=false cdi=d preStart=no";
  const auto other = parse_claim_specification(json, kDriver, kUid);
  REQUIRE(std::holds_alternative<PreparedClaim>(other));
  CHECK_FALSE(std::get<PreparedClaim>(other).devices[0].allocated.admin_access);
  CHECK_FALSE(std::get<PreparedClaim>(other).devices[0].pre_start);
}

TEST_CASE("a claim's file is called after its UID, and no resource's file is taken for one") {
  CHECK(claim_file_name("plughost", kUid) == "plughost-claim-0d1c-77.json");
  CHECK(uid_of_claim_file("plughost", "plughost-claim-0d1c-77.json") == kUid);
  const std::string other = "plughost.0123456789abcdef";
  CHECK(uid_of_claim_file(other, claim_file_name(other, kUid)) == kUid);
  for (const std::string& file :
       {cdi_file_name("plughost", "claim-x.com/camera"), claim_file_name(other, kUid),
        std::string("plughost-claim-.json"), std::string("plughost-claim.json"),
        std::string("plughost-claim-a.b.json"), std::string(".plughost-plughost-claim-a.json.tmp"),
        std::string("plughosx-claim-a.json"), std::string("plughost-claim-a.yaml"),
        std::string("plughost-claim-"), std::string("nvidia.yaml")}) {
    CAPTURE(file);
    CHECK_FALSE(uid_of_claim_file("plughost", file));
  }
}

TEST_CASE("a claim's file that moves an interface has the version that knows it") {
  CdiEdits edits;
  edits.net_devices = {{.host_name = "eth1", .name = "net0"}};
  const Json json = Json::parse(text_of(claim_of_a_camera(), {{"camera", edits}}));
  CHECK(json["cdiVersion"].text() == "1.1.0");
  const Json& interface = json["devices"].array().at(0)["containerEdits"]["netDevices"].array().at(0);
  CHECK(interface["hostInterfaceName"].text() == "eth1");
  CHECK(interface["name"].text() == "net0");
}

}  // namespace
}  // namespace plughost
