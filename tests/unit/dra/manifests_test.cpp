#include "dra/manifests.hpp"

#include <doctest/doctest.h>

#include <set>

#include "dra/names.hpp"

using namespace plughost;

namespace {

const std::string kDriver = "plughost.example.com";
const ClaimableEntry kCamera{.name = "example.com/camera", .near = "", .part = std::nullopt};

// "a.b.0": the member's member's first item.
const Json& at(const Json& json, std::string_view path) {
  const Json* found = &json;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view step = path.substr(0, dot);
    const bool item = step.find_first_not_of("0123456789") == std::string_view::npos;
    found = item ? &found->array().at(std::stoul(std::string(step))) : &std::as_const(*found)[step];
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return *found;
}

ClaimableEntry memory(const std::string& near = {}) {
  return {.name = "example.com/gpu-memory",
          .near = near,
          .part = ClaimableEntry::Part{.capacity = "memory", .amount = "1Gi"}};
}

}  // namespace

TEST_CASE("a class is called after its entry, as a DNS subdomain, and no two classes the same") {
  CHECK(device_class_name("example.com/camera") == "camera.example.com");
  CHECK(device_class_name("example.com/gpu.v2").starts_with("example-com-gpu-v2-"));
  std::set<std::string> names;
  for (const char* const entry :
       {"example.com/camera", "example.com/Camera", "example.com/cam_era", "example.com/{name}",
        "example.com/name", "camera", "com/camera.example", "Example.com/camera"}) {
    const std::string name = device_class_name(entry);
    CHECK_MESSAGE(is_dns_subdomain(name), name);
    CHECK_MESSAGE(names.insert(name).second, name);
  }
}

TEST_CASE("an entry's class selects the driver's devices of that entry, and serves pods that ask as ever") {
  const std::vector<Json> classes = device_classes(kDriver, {kCamera});
  REQUIRE(classes.size() == 1);
  CHECK(classes[0].dump() ==
        R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"camera.example.com"},)"
        R"("spec":{"selectors":[{"cel":{"expression":"device.driver == \"plughost.example.com\" && )"
        R"(device.attributes[\"plughost.example.com\"].entry == \"example.com/camera\""}}],)"
        R"("extendedResourceName":"example.com/camera"}})");
}

TEST_CASE("a class of parts of devices, or of several resources, is no extended resource") {
  const ClaimableEntry several{
      .name = "example.com/{model}", .near = "", .part = std::nullopt, .one_resource = false};
  const std::vector<Json> classes = device_classes(kDriver, {memory(), several});
  REQUIRE(classes.size() == 2);
  for (const Json& each : classes) CHECK(at(each, "spec.extendedResourceName").is_null());
  CHECK(at(classes[1], "spec.selectors.0.cel.expression").text().ends_with("\"example.com/{model}\""));
}

TEST_CASE("an entry's template asks for one device of its class, or for a part of one") {
  const std::vector<Json> templates = claim_templates({kCamera, memory()});
  REQUIRE(templates.size() == 2);
  CHECK(templates[0].dump() ==
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate",)"
        R"("metadata":{"name":"camera.example.com"},"spec":{"spec":{"devices":{"requests":[)"
        R"({"name":"camera","exactly":{"deviceClassName":"camera.example.com"}}]}}}})");
  CHECK(at(templates[1], "spec.spec.devices.requests.0").dump() ==
        R"({"name":"gpu-memory","exactly":{"deviceClassName":"gpu-memory.example.com",)"
        R"("capacity":{"requests":{"memory":"1Gi"}}}})");
}

TEST_CASE("an entry that is to be near another has a template of both, below one PCIe root") {
  const ClaimableEntry nic{.name = "example.com/nic", .near = "example.com/gpu-memory", .part = std::nullopt};
  const std::vector<Json> templates = claim_templates({nic, memory("example.com/nic")});
  REQUIRE(templates.size() == 3);  // each is near the other: one template has both
  const Json& both = templates[1];
  CHECK(at(both, "metadata.name").text().starts_with("nic-example-com-near-gpu-memory"));
  CHECK(is_dns_subdomain(at(both, "metadata.name").text()));
  const Json& devices = at(both, "spec.spec.devices");
  REQUIRE(at(devices, "requests").array().size() == 2);
  CHECK(at(devices, "requests.0.name").text() == "nic");
  CHECK(at(devices, "requests.0.exactly.deviceClassName").text() == "nic.example.com");
  CHECK(at(devices, "requests.1.name").text() == "gpu-memory");
  CHECK(at(devices, "requests.1.exactly.capacity.requests.memory").text() == "1Gi");
  CHECK(at(devices, "constraints").dump() ==
        R"([{"requests":["nic","gpu-memory"],"matchAttribute":"resource.kubernetes.io/pcieRoot"}])");
  CHECK(at(templates[2], "metadata.name").text() == "gpu-memory.example.com");
  CHECK(claim_templates({nic}).size() == 1);  // the other one is not claimed
}

TEST_CASE("requests of one template have different names, whatever the entries are called") {
  const ClaimableEntry one{.name = "a.com/x", .near = "b.com/x", .part = std::nullopt};
  const ClaimableEntry other{.name = "b.com/x", .near = "", .part = std::nullopt};
  const std::vector<Json> templates = claim_templates({one, other});
  REQUIRE(templates.size() == 3);
  const Json& requests = at(templates[1], "spec.spec.devices.requests");
  CHECK(requests.array()[0]["name"].text() == "x");
  CHECK(requests.array()[1]["name"].text().starts_with("b-com-x-"));
  CHECK(at(templates[1], "spec.spec.devices.constraints.0.requests.1") == requests.array()[1]["name"]);
}

TEST_CASE("a driver's account may do what is asked for, and write slices of its pod's node alone") {
  const std::vector<Json> all = driver_access(
      kDriver, "devices", "host",
      {{.group = "resource.k8s.io", .resource = "resourceslices", .verbs = {"create", "delete"}},
       {.group = "", .resource = "nodes", .verbs = {"get"}}});
  REQUIRE(all.size() == 5);
  CHECK(all[0].dump() ==
        R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"host","namespace":"devices"}})");
  CHECK(at(all[1], "kind").text() == "ClusterRole");
  CHECK(at(all[1], "rules").dump() ==
        R"([{"apiGroups":["resource.k8s.io"],"resources":["resourceslices"],"verbs":["create","delete"]},)"
        R"({"apiGroups":[""],"resources":["nodes"],"verbs":["get"]}])");
  CHECK(at(all[2], "kind").text() == "ClusterRoleBinding");
  CHECK(at(all[2], "roleRef").dump() ==
        R"({"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"host"})");
  CHECK(at(all[2], "subjects").dump() ==
        R"([{"kind":"ServiceAccount","name":"host","namespace":"devices"}])");

  const Json& policy = all[3];
  CHECK(at(policy, "kind").text() == "ValidatingAdmissionPolicy");
  CHECK(at(policy, "spec.failurePolicy").text() == "Fail");
  CHECK(at(policy, "spec.matchConstraints.resourceRules").dump() ==
        R"([{"apiGroups":["resource.k8s.io"],"apiVersions":["*"],"operations":["CREATE","UPDATE","DELETE"],)"
        R"("resources":["resourceslices"]}])");
  CHECK(at(policy, "spec.matchConditions.0.expression").text() ==
        R"(request.userInfo.username == "system:serviceaccount:devices:host")");
  CHECK(at(policy, "spec.variables.0.name").text() == "slice");
  CHECK(at(policy, "spec.variables.0.expression").text() ==
        R"(request.operation == "DELETE" ? oldObject : object)");
  CHECK(at(policy, "spec.variables.1.name").text() == "ownNode");
  CHECK(at(policy, "spec.variables.1.expression").text() ==
        R"(request.userInfo.extra[?"authentication.kubernetes.io/node-name"][0].orValue(""))");
  REQUIRE(at(policy, "spec.validations").array().size() == 3);
  CHECK(at(policy, "spec.validations.0.expression").text() == R"(variables.ownNode != "")");
  CHECK(at(policy, "spec.validations.1.expression").text() ==
        R"(variables.slice.spec.?nodeName.orValue("") == variables.ownNode)");
  CHECK(at(policy, "spec.validations.2.expression").text() ==
        R"(variables.slice.spec.driver == "plughost.example.com")");
  CHECK(at(all[4], "kind").text() == "ValidatingAdmissionPolicyBinding");
  CHECK(at(all[4], "spec.policyName") == at(policy, "metadata.name"));
  CHECK(at(all[4], "spec.validationActions").dump() == R"(["Deny"])");
}

TEST_CASE("bytes are written in the largest unit that fits, as Kubernetes does") {
  CHECK(bytes_quantity(0) == "0");
  CHECK(bytes_quantity(1000) == "1000");
  CHECK(bytes_quantity(1023) == "1023");
  CHECK(bytes_quantity(1024) == "1Ki");
  CHECK(bytes_quantity(1536) == "1536");
  CHECK(bytes_quantity(100ull << 20) == "100Mi");
  CHECK(bytes_quantity(16ull << 30) == "16Gi");
  CHECK(bytes_quantity(1ull << 60) == "1Ei");
}
