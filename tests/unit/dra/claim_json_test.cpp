#include "dra/claim_json.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

constexpr const char* kDriver = "plughost.example.com";

Json result_of(const std::string& request, const std::string& device, const std::string& driver = kDriver) {
  return {
      {"request", request}, {"driver", driver}, {"pool", "node-a/example.com/camera"}, {"device", device}};
}

Json claim_with(Json::Array results) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"uid", "1e3f-aa"}, {"namespace", "default"}, {"name", "camera"}}},
          {"status", {{"allocation", {{"devices", {{"results", std::move(results)}}}}}}}};
}

Claim read(const Json& json) {
  auto claim = parse_claim(json, kDriver);
  const auto* const why = std::get_if<std::string>(&claim);
  REQUIRE_MESSAGE(!why, (why ? *why : ""));
  return std::get<Claim>(std::move(claim));
}

std::string why_not(const Json& json) {
  auto claim = parse_claim(json, kDriver);
  const auto* const why = std::get_if<std::string>(&claim);
  return why ? *why : "it was read";
}

// With one member of the first result changed.
std::string why_not(const std::string& name, Json value) {
  Json result = result_of("camera", "video0");
  result[name] = std::move(value);
  return why_not(claim_with({result}));
}

TEST_CASE("a claim is read with the devices that are the driver's") {
  const Claim claim =
      read(claim_with({result_of("camera", "video0"), result_of("gpu", "gpu0", "gpu.nvidia.com"),
                       result_of("sound/small", "card1")}));
  CHECK(claim.ref == ClaimRef{.uid = "1e3f-aa", .name_space = "default", .name = "camera"});
  CHECK(claim.ref.text() == "claim default/camera");
  CHECK(claim.allocated);
  CHECK(claim.consumers.empty());
  REQUIRE(claim.devices.size() == 2);
  CHECK(claim.devices[0] == AllocatedDevice{.request = "camera",
                                            .pool = "node-a/example.com/camera",
                                            .device = "video0",
                                            .admin_access = false,
                                            .share_id = std::nullopt,
                                            .consumed = {}});
  CHECK(claim.devices[1].request == "sound/small");
  CHECK(claim.devices[1].main_request() == "sound");
  CHECK(claim.devices[1].device == "card1");
}

TEST_CASE("a share of a device has its id, and what it consumes") {
  Json result = result_of("gpu", "gpu0");
  result["shareID"] = "9a1d7f5e-9d0e-4a39-8a9d-0f43c9c4e0aa";
  result["adminAccess"] = true;
  result["consumedCapacity"] = {
      {"memory", "4Gi"}, {"plughost.example.com/shares", "2"}, {"example.com/memory", 7}, {"cores", "0"},
      {"none", 0},       {"plughost.example.community/x", 3}};
  const Claim claim = read(claim_with({result}));
  const AllocatedDevice& device = claim.devices.at(0);
  CHECK(device.share_id == "9a1d7f5e-9d0e-4a39-8a9d-0f43c9c4e0aa");
  CHECK(device.admin_access);
  CHECK(device.consumed == std::map<std::string, std::int64_t>{{"memory", 4294967296},
                                                               {"shares", 2},
                                                               {"example.com/memory", 7},
                                                               {"cores", 0},
                                                               {"none", 0},
                                                               {"plughost.example.community/x", 3}});
}

TEST_CASE("admin access is a flag in JSON, and text in a manifest that was read as YAML") {
  Json result = result_of("a", "b");
  result["adminAccess"] = "true";
  CHECK(read(claim_with({result})).devices.at(0).admin_access);
  Json without = result_of("a", "b");
  without["adminAccess"] = "false";
  CHECK_FALSE(read(claim_with({without})).devices.at(0).admin_access);
}

TEST_CASE("a claim that is not allocated has no device") {
  Json json = claim_with({});
  CHECK(read(json).allocated);
  json["status"] = Json();
  CHECK_FALSE(read(json).allocated);
  CHECK(read(json).devices.empty());
}

TEST_CASE("the pods that a claim is reserved for are known, and no other consumers") {
  Json json = claim_with({});
  json["status"]["reservedFor"] =
      Json::Array{Json{{"resource", "pods"}, {"name", "one"}, {"uid", "u-1"}},
                  Json{{"resource", "jobs"}, {"name", "two"}, {"uid", "u-2"}},
                  Json{{"resource", "pods"}, {"name", "bad name"}, {"uid", "u-3"}},
                  Json{{"resource", "pods"}, {"name", "four"}, {"uid", "u/4"}},
                  Json{{"resource", "pods"}, {"name", "five"}, {"uid", "u-5"}}};
  CHECK(read(json).consumers ==
        std::vector<Claim::Consumer>{{.uid = "u-1", .name = "one"}, {.uid = "u-5", .name = "five"}});
  Json many = Json::Array();
  for (int i = 0; i < 257; ++i)
    many.push_back(
        {{"resource", "pods"}, {"name", "p" + std::to_string(i)}, {"uid", "u" + std::to_string(i)}});
  json["status"]["reservedFor"] = many;
  CHECK(read(json).consumers.size() == 256);
}

TEST_CASE("what is no claim is refused with its place") {
  CHECK(why_not(Json()).starts_with("metadata: "));
  CHECK(why_not(Json{{"kind", "Pod"}}) == "a ResourceClaim is wanted, and this is a \"Pod\"");
  Json json = claim_with({});
  json["metadata"]["uid"] = "../../etc/passwd";
  CHECK(why_not(json) == "metadata.uid: \"../../etc/passwd\" is no UID");
  for (const char* const uid : {"", "-a", "a-", "a.b", "a_b", "a b", "a/b"}) {
    CAPTURE(uid);
    json["metadata"]["uid"] = uid;
    CHECK(why_not(json).starts_with("metadata.uid: "));
  }
  json["metadata"]["uid"] = std::string(63, 'a');
  CHECK(why_not(json) == "it was read");
  json["metadata"]["uid"] = std::string(64, 'a');
  CHECK(why_not(json).starts_with("metadata.uid: "));
  json = claim_with({});
  json["metadata"]["namespace"] = "a/b";
  CHECK(why_not(json).starts_with("metadata: "));
}

TEST_CASE("a result that cannot be is refused with its place") {
  const std::string place = "status.allocation.devices.results[0]";
  CHECK(why_not("request", "") == place + ".request: \"\" is no request's name");
  CHECK(why_not("request", "a/b/c").starts_with(place + ".request"));
  CHECK(why_not("request", "a b").starts_with(place + ".request"));
  CHECK(why_not("device", "a/b") == place + ".device: \"a/b\" is no device's name");
  CHECK(why_not("device", std::string(64, 'a')).starts_with(place + ".device"));
  CHECK(why_not("device", std::string(63, 'a')) == "it was read");
  CHECK(why_not("pool", "a\nb") == place + ".pool: \"a\\x0Ab\" is no pool's name");
  CHECK(why_not("pool", std::string(254, 'a')).starts_with(place + ".pool"));
  CHECK(why_not("shareID", "").starts_with(place + ".shareID"));
  CHECK(why_not("consumedCapacity", Json{{"memory", "500m"}}) ==
        place + ".consumedCapacity: \"memory\" has \"500m\", which is no whole number");
  CHECK(why_not("consumedCapacity", Json{{"memory", -1}}).starts_with(place + ".consumedCapacity"));
  CHECK(why_not("consumedCapacity", Json{{"memory", Json()}}).starts_with(place + ".consumedCapacity"));
  CHECK(why_not("consumedCapacity", Json{{"memory", "9223372036854775807"}}) == "it was read");
  CHECK(why_not("consumedCapacity", Json{{"memory", "9223372036854775808"}})
            .starts_with(place + ".consumedCapacity"));
  CHECK(why_not("consumedCapacity", Json{{"plughost.example.com/", "1"}})
            .starts_with(place + ".consumedCapacity"));
  // What is another driver's is none of our affair.
  Json other = result_of("", "", "other.example.com");
  CHECK(why_not(claim_with({other})) == "it was read");
  CHECK(why_not(claim_with({other, result_of("a", "")}))
            .starts_with("status.allocation.devices.results[1].device"));
}

TEST_CASE("what is wrong first is told, and a capacity has a name of 96 characters at most") {
  Json result = result_of("", "a/b");
  CHECK(why_not(claim_with({result})).find(".request: ") != std::string::npos);
  CHECK(why_not("consumedCapacity", Json{{std::string(96, 'a'), "1"}}) == "it was read");
  CHECK(why_not("consumedCapacity", Json{{std::string(97, 'a'), "1"}}).find("no capacity's name") !=
        std::string::npos);
  Json::Object capacities;
  for (int i = 0; i < 128; ++i) capacities.emplace_back("c" + std::to_string(i), "1");
  CHECK(why_not("consumedCapacity", capacities) == "it was read");
  capacities.emplace_back("c128", "1");
  CHECK(why_not("consumedCapacity", capacities).ends_with("consumedCapacity: there are too many"));
}

TEST_CASE("a claim is reserved if anybody is named, and has the names that an object can have") {
  Json json = claim_with({});
  CHECK_FALSE(read(json).reserved);
  json["status"]["reservedFor"] = Json::Array{Json{{"resource", "jobs"}, {"name", "a"}, {"uid", "u"}}};
  CHECK(read(json).reserved);
  json["metadata"]["name"] = std::string(253, 'a');
  json["metadata"]["namespace"] = std::string(63, 'a');
  CHECK(why_not(json) == "it was read");
  json["metadata"]["name"] = std::string(254, 'a');
  CHECK(why_not(json).starts_with("metadata: "));
  json["metadata"]["name"] = "a";
  json["metadata"]["namespace"] = std::string(64, 'a');
  CHECK(why_not(json).starts_with("metadata: "));
}

TEST_CASE("a claim has no more devices than can be") {
  Json::Array results(128, result_of("a", "b"));
  CHECK(read(claim_with(results)).devices.size() == 128);
  results.push_back(result_of("a", "b"));
  CHECK(why_not(claim_with(results)).find("more than 128") != std::string::npos);
}

}  // namespace
}  // namespace plughost
