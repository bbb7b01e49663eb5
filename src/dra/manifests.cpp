#include "dra/manifests.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "dra/advertised.hpp"
#include "dra/names.hpp"

namespace plughost {
namespace {

constexpr std::string_view kResourceGroup = "resource.k8s.io/v1";

Json object_of(std::string_view version, std::string_view kind, std::string_view name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", Json{{"name", name}}}};
}

std::string after_slash(std::string_view entry) {
  return std::string(entry.substr(entry.find('/') + 1));
}

Json device_class(std::string_view driver, const ClaimableEntry& entry) {
  const std::string quoted = json_string(driver);  // CEL's texts are written as JSON's
  const std::string expression = "device.driver == " + quoted + " && device.attributes[" + quoted + "]." +
                                 std::string(kEntryAttribute) + " == " + json_string(entry.name);
  Json made = object_of(kResourceGroup, "DeviceClass", device_class_name(entry.name));
  Json& spec = made["spec"];
  spec["selectors"].push_back(Json{{"cel", Json{{"expression", expression}}}});
  // A count of an extended resource is one of devices, and takes no part of any.
  if (!entry.part && entry.one_resource) spec["extendedResourceName"] = entry.name;
  return made;
}

Json request(const ClaimableEntry& entry, const std::string& name) {
  Json exactly{{"deviceClassName", device_class_name(entry.name)}};
  if (entry.part) exactly["capacity"]["requests"][entry.part->capacity] = entry.part->amount;
  return {{"name", name}, {"exactly", exactly}};
}

Json claim_template(const std::string& name, Json devices) {
  Json made = object_of(kResourceGroup, "ResourceClaimTemplate", name);
  made["spec"]["spec"]["devices"] = std::move(devices);
  return made;
}

Json template_of(const ClaimableEntry& entry) {
  Json devices;
  devices["requests"].push_back(request(entry, device_label(after_slash(entry.name))));
  return claim_template(device_class_name(entry.name), std::move(devices));
}

Json template_of(const ClaimableEntry& entry, const ClaimableEntry& neighbour) {
  const std::string one = device_label(after_slash(entry.name));
  std::string other = device_label(after_slash(neighbour.name));
  if (other == one) other = device_label(neighbour.name);
  Json devices;
  devices["requests"].push_back(request(entry, one));
  devices["requests"].push_back(request(neighbour, other));
  devices["constraints"].push_back(
      Json{{"requests", std::vector<std::string>{one, other}}, {"matchAttribute", kPcieRoot}});
  return claim_template(device_label(device_class_name(entry.name) + "-near-" + other), std::move(devices));
}

Json policy(std::string_view driver, const std::string& name, const std::string& user) {
  Json made = object_of("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", name);
  Json& spec = made["spec"];
  spec["failurePolicy"] = "Fail";
  spec["matchConstraints"]["resourceRules"].push_back(
      Json{{"apiGroups", std::vector<std::string>{"resource.k8s.io"}},
           {"apiVersions", std::vector<std::string>{"*"}},
           {"operations", std::vector<std::string>{"CREATE", "UPDATE", "DELETE"}},
           {"resources", std::vector<std::string>{"resourceslices"}}});
  spec["matchConditions"].push_back(
      Json{{"name", "is-the-driver"}, {"expression", "request.userInfo.username == " + json_string(user)}});
  const auto variable = [&](const char* called, const char* expression) {
    spec["variables"].push_back(Json{{"name", called}, {"expression", expression}});
  };
  variable("slice", "request.operation == \"DELETE\" ? oldObject : object");
  variable("ownNode", "request.userInfo.extra[?\"authentication.kubernetes.io/node-name\"][0].orValue(\"\")");
  const auto validation = [&](const std::string& expression, const std::string& message) {
    spec["validations"].push_back(Json{{"expression", expression}, {"message", message}});
  };
  validation(
      "variables.ownNode != \"\"",
      "this token does not say on which node its pod runs, and only there the driver may write slices");
  validation("variables.slice.spec.?nodeName.orValue(\"\") == variables.ownNode",
             "the driver may write slices of the node on which its pod runs, and of no other");
  validation("variables.slice.spec.driver == " + json_string(driver), "these are another driver's slices");
  return made;
}

}  // namespace

std::string device_class_name(std::string_view entry) {
  const std::size_t slash = entry.find('/');
  if (slash == std::string_view::npos) return device_label(entry);
  const std::string_view domain = entry.substr(0, slash);
  const std::string_view name = entry.substr(slash + 1);
  // A name with dots could be another's with some of its domain.
  if (!is_dns_label(name) || !is_dns_subdomain(domain)) return device_label(entry);
  return std::string(name) + '.' + std::string(domain);
}

std::vector<Json> device_classes(std::string_view driver, const std::vector<ClaimableEntry>& entries) {
  std::vector<Json> classes;
  for (const ClaimableEntry& entry : entries) classes.push_back(device_class(driver, entry));
  return classes;
}

std::vector<Json> claim_templates(const std::vector<ClaimableEntry>& entries) {
  std::vector<Json> templates;
  std::set<std::pair<std::string_view, std::string_view>> joined;
  for (const ClaimableEntry& entry : entries) {
    templates.push_back(template_of(entry));
    const auto neighbour = std::ranges::find(entries, entry.near, &ClaimableEntry::name);
    if (entry.near.empty() || neighbour == entries.end()) continue;
    if (joined.contains({entry.near, entry.name})) continue;  // each is to be near the other
    joined.emplace(entry.name, entry.near);
    templates.push_back(template_of(entry, *neighbour));
  }
  return templates;
}

std::vector<Json> driver_access(std::string_view driver, std::string_view name_space,
                                std::string_view account, const std::vector<RoleRule>& rules) {
  constexpr std::string_view kRbac = "rbac.authorization.k8s.io/v1";
  const std::string name(account);
  Json service_account = object_of("v1", "ServiceAccount", name);
  service_account["metadata"]["namespace"] = name_space;
  Json role = object_of(kRbac, "ClusterRole", name);
  role["rules"] = Json::Array();
  for (const RoleRule& rule : rules)
    role["rules"].push_back(Json{{"apiGroups", std::vector<std::string>{rule.group}},
                                 {"resources", std::vector<std::string>{rule.resource}},
                                 {"verbs", rule.verbs}});
  Json binding = object_of(kRbac, "ClusterRoleBinding", name);
  binding["roleRef"] =
      Json{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", name}};
  binding["subjects"].push_back(Json{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", name_space}});
  Json of_policy = object_of("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", driver);
  of_policy["spec"]["policyName"] = driver;
  of_policy["spec"]["validationActions"].push_back("Deny");
  const std::string user = "system:serviceaccount:" + std::string(name_space) + ':' + name;
  return {service_account, role, binding, policy(driver, std::string(driver), user), of_policy};
}

std::string bytes_quantity(std::uint64_t bytes) {
  std::string_view suffixes = "KMGTPE";
  std::string suffix;
  while (bytes != 0 && bytes % 1024 == 0 && !suffixes.empty()) {
    bytes /= 1024;
    suffix = std::string(1, suffixes.front()) + 'i';
    suffixes.remove_prefix(1);
  }
  return std::to_string(bytes) + suffix;
}

}  // namespace plughost
