#include <algorithm>

#include "base/joined.hpp"
#include "doctor/checks.hpp"
#include "dra/advertised.hpp"
#include "dra/slice_to_try.hpp"
#include "dra/terms.hpp"

namespace plughost {

namespace {

// What a ClusterRole has to have.
std::string rule(const Right& right) {
  return R"({apiGroups: [")" + right.group + R"("], resources: [)" + right.resource +
         (right.subresource.empty() ? "" : '/' + right.subresource) + "], verbs: [" + right.verb + "]}";
}

Level level_of(bool for_devices) {
  return for_devices ? Level::kProblem : Level::kWarning;
}

// What is done without a feature of the API server's that an entry would use.
struct Lack {
  bool DraFeatures::*feature;
  std::string_view gate;
  const char* why;
  const char* advice;  // beside the gate
};
constexpr Lack kLacks[] = {
    {&DraFeatures::taints, kTaintsGate,
     "a device that is Unhealthy or drained is taken out of its slice instead of tainted, "
     "so that nobody sees why it is not there",
     "or say `onUnhealthy: withdraw`, which is what is done"},
    {&DraFeatures::sharing, kSharingGate,
     "each share is a device of its own: a claim that asks for a capacity is not allocated, "
     "and one that asks for several may get shares of several devices",
     "until then claims ask for so many devices, and for no capacity"},
    {&DraFeatures::partitions, kPartitionsGate,
     "a card that is divided is not offered as a whole, because nothing would keep its parts from others",
     "until then claims ask for the parts"},
};

// Of a cluster that takes slices of ours.
void look_at_features(const Observed& observed, const DraFeatures& features, Findings& found) {
  for (const Lack& lack : kLacks) {
    if (features.*lack.feature) continue;
    std::vector<std::string> users;
    bool evicts = false;
    for (const Offer& offer : observed.devices.offers) {
      if (!offer.recipe->dra || !(features_used(offer).*lack.feature)) continue;
      users.push_back(offer.resource);
      evicts = evicts || offer.recipe->dra->on_unhealthy == OnUnhealthy::kEvict;
    }
    if (users.empty()) continue;
    const bool of_taints = lack.feature == &DraFeatures::taints;
    std::string why = lack.why;
    if (of_taints && evicts) why += "; and no pod is evicted from one (`onUnhealthy: evict`)";
    found.push_back(
        {.level = of_taints && !evicts ? Level::kNote : Level::kWarning,
         .where = observed.api_permissions->server,
         .what = "its feature gate " + std::string(lack.gate) + " is off, and " + joined(users, ", ") +
                 " would use it",
         .why = std::move(why),
         .advice = "turn " + std::string(lack.gate) +
                   " on in the API server and the scheduler, or upgrade to Kubernetes 1.36, which "
                   "has it on; " +
                   lack.advice});
  }
}

// A right that is missing is said by another check.
bool may_create_slices(const ApiPermissions& access) {
  return std::ranges::none_of(access.answers, [](const ApiPermissions::Answer& answer) {
    return answer.right.verb == "create" && answer.right.resource == "resourceslices" && !answer.allowed;
  });
}

void look_at_slice(const Observed& observed, Findings& found) {
  const ApiPermissions& access = *observed.api_permissions;
  if (!access.dra->slice) return;
  const SliceTrial& trial = *access.dra->slice;
  if (trial.features) return look_at_features(observed, *trial.features, found);
  if (!trial.refused)
    found.push_back({.level = Level::kWarning,
                     .where = access.server,
                     .what = "which features it has for devices is not known: " + trial.trouble,
                     .why = "taints, shares and parts of devices need them, and without a word it drops what "
                            "it does not have",
                     .advice = "run doctor again; the daemon's log says it, too, once it has asked"});
  else if (may_create_slices(access))
    found.push_back(
        {.level = Level::kProblem,
         .where = access.server,
         .what = "it refuses a ResourceSlice of the node " + access.node + ": " + trial.trouble,
         .why = "no device of an entry with `advertise: dra` would be published",
         .advice = "see to what it names: credentials of a node are good for slices of that node alone, and "
                   "an admission policy has to let ours through; `plughost dra rbac` prints both"});
}

}  // namespace

Findings check_api_server(const HostRoot&, const Observed& observed) {
  if (!observed.api_permissions) return {};
  const ApiPermissions& access = *observed.api_permissions;
  const std::string where = access.server.empty() ? "the API server" : access.server;
  const std::string as = access.identity.empty() ? "" : " with the credentials of " + access.identity;
  const bool for_devices = std::ranges::any_of(
      access.answers, [](const ApiPermissions::Answer& answer) { return answer.right.for_devices; });
  Findings found;
  for (const std::string& warning : access.warnings)
    found.push_back(
        {.level = Level::kWarning,
         .where = access.identity,
         .what = warning,
         .why = "whoever is between this node and the API server may read and answer what is asked",
         .advice = "give the kubeconfig the cluster's certificate authority"});
  if (!access.trouble.empty()) {
    found.push_back({.level = level_of(for_devices),
                     .where = where,
                     .what = "it cannot be asked" + as + ": " + access.trouble,
                     .why = "what the configuration wants of it is not done, or stays as it was",
                     .advice =
                         "see to what it names; `apiServer.kubeconfig` says whose credentials are used, and "
                         "the unit needs the drop-in apiserver.conf"});
    return found;
  }
  for (const ApiPermissions::Answer& answer : access.answers) {
    if (answer.allowed || answer.by_object) continue;
    if (answer.trouble.empty())
      found.push_back(
          {.level = level_of(answer.right.for_devices),
           .where = where,
           .what = "we may not " + answer.right.text() + as,
           .why = '`' + answer.right.key + "` needs it",
           .advice = "use the kubelet's own credentials (`apiServer: {kubeconfig: auto}`), or bind a "
                     "ClusterRole to the account with the rule " +
                     rule(answer.right)});
    else
      found.push_back({.level = Level::kWarning,
                       .where = where,
                       .what = "whether we may " + answer.right.text() + " is not known: " + answer.trouble,
                       .why = '`' + answer.right.key + "` needs it",
                       .advice = "ask it by `kubectl auth can-i` with the same credentials"});
  }
  if (found.empty()) found.push_back({.where = where, .what = "all that is needed is allowed" + as});
  return found;
}

Findings check_dra(const HostRoot&, const Observed& observed) {
  const ApiPermissions* const access = observed.api_permissions ? &*observed.api_permissions : nullptr;
  if (!access || !access->dra || !access->trouble.empty()) return {};  // that check says why
  const ClusterDra& dra = *access->dra;
  if (!dra.trouble.empty())
    return {{.level = Level::kWarning,
             .where = access->server,
             .what = "whether it has Dynamic Resource Allocation is not known: " + dra.trouble,
             .why = "entries with `advertise: dra` need it",
             .advice = "ask it by `kubectl api-versions` with the same credentials"}};
  Findings found;
  const auto serves = [&](const char* version) {
    return std::ranges::find(dra.versions, version) != dra.versions.end();
  };
  if (!serves("v1"))
    found.push_back(
        {.level = serves("v1beta2") ? Level::kNote : Level::kProblem,
         .where = access->server,
         .what = dra.versions.empty()
                     ? "it does not serve resource.k8s.io"
                     : "it serves resource.k8s.io as " + joined(dra.versions, ", ") + ", and not as v1",
         .why = "entries with `advertise: dra` are shown there as v1 or v1beta2, and pods claim them there",
         .advice = "upgrade the cluster to Kubernetes 1.34 or newer, and see that its --runtime-config does "
                   "not turn resource.k8s.io off; until then leave `advertise: dra` out"});
  look_at_slice(observed, found);
  for (const Offer& offer : observed.devices.offers) {
    const auto left = dra.allocatable.find(offer.resource);
    if (!offer.recipe->dra || left == dra.allocatable.end()) continue;
    const bool served = left->second != "0";
    found.push_back(
        {.level = Level::kWarning,
         .where = access->node,
         .what = "a device plugin " + std::string(served ? "serves " : "has left ") + offer.resource + ": " +
                 left->second + " on this node",
         .why = served ? "pods that ask for it get the plugin's devices, and none by a claim"
                       : "Kubernetes 1.34 and 1.35 give such pods no device by a claim on this node",
         .advice = served
                       ? "stop the other plugin, if it is not plughost itself before a reload"
                       : "start plughost, which takes it away, or `kubectl edit --subresource=status node " +
                             access->node + "`"});
  }
  if (found.empty())
    found.push_back(
        {.where = access->server,
         .what = std::string("resource.k8s.io is served as v1") +
                 (dra.slice && dra.slice->features ? ", and it keeps all that the configuration uses of it"
                                                   : "")});
  return found;
}

}  // namespace plughost
