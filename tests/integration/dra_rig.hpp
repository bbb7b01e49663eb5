#pragma once
// A directory of devices that a daemon offers in a pool, between a kubelet and an API server of a test's.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "integration/node.hpp"
#include "unit/apiserver/fake_objects.hpp"

namespace plughost::test {

inline const std::string kDriver = "plughost.example.com";
inline const std::string kSerial = "example.com/serial";
inline const std::string kOther = "example.com/other";
inline const std::string kToken = "example.com/token";
inline const std::string kSerialPool = std::string(FakeObjects::kNode) + '/' + kSerial;
inline const std::string kClaims = std::string(FakeObjects::kClaimsOf) + "default/resourceclaims";

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

inline ClaimRef ref_of(const std::string& name) {
  return {.uid = "uid-" + name, .name_space = "default", .name = name};
}

// The sentence with which a claim was refused; empty: it was not.
inline std::string refusal_of(const ClaimsAnswer& answer, const std::string& name) {
  const auto outcome = answer.outcomes.find("uid-" + name);
  if (outcome == answer.outcomes.end()) return answer.error;
  const auto* const why = std::get_if<std::string>(&outcome->second);
  return why ? *why : "";
}

// It is registered, and the newest socket that it has answers.
inline bool is_connected(const KubeletState& state, const std::string& driver) {
  const auto& endpoints = state.driver(driver).endpoints;
  return !endpoints.empty() && endpoints.back().connected;
}

// The specification of the resource, whoever's it is.
inline std::filesystem::path specification(const TempDir& files) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(files.at("cdi"), failed)) {
    if (entry.path().filename().string().ends_with("-example.com_serial.json")) return entry.path();
  }
  return {};
}

// The scheduler allocates these devices of the pool, and a pod comes. more: what else is said of each device.
inline void put_claim(FakeObjects& objects, const std::string& claim, const std::string& pool,
                      const std::vector<std::string>& devices, const Json& more = Json::Object()) {
  Json results = Json::Array();
  for (const std::string& device : devices) {
    Json result{{"request", "port"}, {"driver", kDriver}, {"pool", pool}, {"device", device}};
    for (const auto& [key, value] : more.object()) result[key] = value;
    results.push_back(std::move(result));
  }
  objects.put(kClaims,
              Json{{"apiVersion", "resource.k8s.io/v1"},
                   {"kind", "ResourceClaim"},
                   {"metadata", Json{{"namespace", "default"}, {"name", claim}, {"uid", "uid-" + claim}}},
                   {"status", Json{{"allocation", Json{{"devices", Json{{"results", results}}}}},
                                   {"reservedFor", Json::Array{Json{{"resource", "pods"},
                                                                    {"name", "pod-" + claim},
                                                                    {"uid", "uid-of-pod-" + claim}}}}}}});
}

// Beside a resource of the kubelet's.
struct DraRig {
  FakeObjects objects;
  Node node{{.pod_resources = true, .drivers = true}};

  explicit DraRig(const std::vector<std::string>& devices = {"a", "b"}) {
    node.files().directory("serial");
    for (const std::string& device : devices) plug(device);
    use({});
    advertise("dra");
    node.start_kubelet();
    start();
  }
  // What is above the entries, from the next configuration on.
  struct Top {
    std::string name = FakeObjects::kNode;  // the node's
    std::string cdi = "cdi";
    std::string more = {};
  };
  void use(const Top& top) {
    node.set_top("apiServer: {kubeconfig: " + objects.kubeconfig(node.files()) + ", node: " + top.name +
                 "}\ncdi: {directory: " + node.path(top.cdi) + "}\nlisten: 127.0.0.1:0\n" + top.more);
  }
  // keys: more of the entry's; entries: more of them.
  void advertise(const std::string& way, const std::string& entries = {}, const std::string& keys = {}) {
    node.configure(listed(kSerial, node.path("serial"),
                          "mounts: [{hostPath: \"{path}\", containerPath: /dev/port}], advertise: " + way +
                              (keys.empty() ? "" : ", " + keys)) +
                   entries + counted(kToken, 1));
  }
  // The same with more keys of the entry.
  void offer(const std::string& keys) {
    advertise("dra", {}, keys);
    REQUIRE(node.reload());
  }
  // The end of a former process's stream may be heard later than this one's registration.
  void start() {
    const auto before = node.of(kToken).registrations.size();
    node.start_daemon();
    REQUIRE(node.wait_for([&](const KubeletState& state) {
      const ResourceState& token = state.of(kToken);
      return token.registrations.size() > before && token.attached && token.lists_since_registration > 0;
    }));
  }
  void plug(const std::string& device) { node.files().file("serial/" + device, ""); }
  void unplug(const std::string& device) { node.files().remove("serial/" + device); }

  // "a b!unhealthy": the devices of a pool, those that are tainted with the taint.
  std::string pool(const std::string& driver = kDriver, const std::string& resource = kSerial) const {
    const std::string name = std::string(FakeObjects::kNode) + '/' + resource;
    std::set<std::string> words;
    for (const Json& slice : objects.all(FakeObjects::kSlices)) {
      if (slice["spec"]["pool"]["name"].text() != name || slice["spec"]["driver"].text() != driver) continue;
      for (const Json& device : slice["spec"]["devices"].array()) {
        std::string word = device["name"].text();
        for (const Json& taint : device["taints"].array()) word += '!' + taint["value"].text();
        words.insert(word);
      }
    }
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  bool published(const std::string& devices, const std::string& driver = kDriver,
                 const std::string& resource = kSerial) const {
    const bool shown = eventually([&] { return pool(driver, resource) == devices; });
    CHECK_MESSAGE(shown, "the pool has ", pool(driver, resource), " instead of ", devices);
    return shown;
  }
  bool registered() const {
    return node.wait_for([](const KubeletState& state) { return is_connected(state, kDriver); }, kLong);
  }
  // See put_claim.
  void allocate(const std::string& claim, const std::vector<std::string>& devices,
                const Json& more = Json::Object()) {
    put_claim(objects, claim, kSerialPool, devices, more);
  }
  ClaimsAnswer prepare(const std::string& claim) {
    REQUIRE(registered());
    return node.kubelet().prepare(kDriver, {ref_of(claim)});
  }
  // While the test goes on.
  std::future<ClaimsAnswer> preparing(const std::string& claim) {
    REQUIRE(registered());
    return std::async(std::launch::async,
                      [this, claim] { return node.kubelet().prepare(kDriver, {ref_of(claim)}); });
  }
  // The driver has asked for the claim, so that it has begun.
  bool asked_for(const std::string& claim, std::size_t times = 1) const {
    return eventually([&] { return objects.asked("GET " + kClaims + '/' + claim) >= times; });
  }
  ClaimsAnswer unprepare(const std::string& claim) {
    REQUIRE(registered());
    return node.kubelet().unprepare(kDriver, {ref_of(claim)});
  }
  // "Healthy", "Unhealthy: why", or "?".
  std::string health(const std::string& device) const {
    const KubeletState state = node.kubelet_state();
    const auto& all = state.driver(kDriver).health;
    const auto found = all.find({kSerialPool, device});
    if (found == all.end() || !found->second.known) return "?";
    return found->second.healthy ? "Healthy" : "Unhealthy: " + found->second.message;
  }
  std::filesystem::path claim_file(const std::string& claim, const std::string& directory = "cdi") const {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(node.files().at(directory), failed)) {
      if (entry.path().filename().string().find("claim-uid-" + claim) != std::string::npos)
        return entry.path();
    }
    return {};
  }
};

}  // namespace plughost::test
