#pragma once
// An API server with claims, and an offer of cameras. Not thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dra/terms.hpp"
#include "unit/apiserver/api_node.hpp"
#include "unit/run_until.hpp"

namespace plughost::test {

inline constexpr const char* kDriver = "plughost.example.com";
inline constexpr const char* kCameraPool = "worker-1/example.com/camera";
inline const std::string kClaims = std::string(FakeObjects::kClaimsOf) + "default/resourceclaims";

inline ClaimRef ref_of(const std::string& name) {
  return {.uid = "uid-" + name, .name_space = "default", .name = name};
}

// Reserved for a pod, with these devices of the pool for its request "camera".
inline Json claim_object(const std::string& name, const std::vector<std::string>& devices) {
  Json results = Json::Array();
  for (const std::string& device : devices)
    results.push_back(
        {{"request", "camera"}, {"driver", kDriver}, {"pool", kCameraPool}, {"device", device}});
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", Json{{"namespace", "default"}, {"name", name}, {"uid", "uid-" + name}}},
          {"status", Json{{"allocation", Json{{"devices", Json{{"results", results}}}}},
                          {"reservedFor",
                           Json::Array{Json{{"resource", "pods"}, {"name", "pod-a"}, {"uid", "uid-pod"}}}}}}};
}

inline std::shared_ptr<Offer> cameras(const std::vector<std::string>& ids) {
  Recipe recipe;
  recipe.cdi = CdiNames::kCri;
  recipe.dra = std::make_shared<const DraTerms>();
  recipe.env = {{Template("CAMERAS"), Template("{id}")}};
  std::vector<Device> devices;
  for (const std::string& id : ids) {
    Device device;
    device.id = id;
    devices.push_back(device);
  }
  auto offer = std::make_shared<Offer>();
  offer->resource = "example.com/camera";
  offer->inventory = Inventory(std::move(devices));
  offer->recipe = std::make_shared<const Recipe>(std::move(recipe));
  return offer;
}

struct ClaimNode : ApiNode {
  std::size_t asked(const std::string& name) const { return objects.asked("GET " + kClaims + '/' + name); }
};

}  // namespace plughost::test
