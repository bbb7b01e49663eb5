#include "doctor/checks.hpp"

namespace plughost {
namespace {

// What a ClusterRole has to have.
std::string rule(const Right& right) {
  return R"({apiGroups: [")" + right.group + R"("], resources: [)" + right.resource +
         (right.subresource.empty() ? "" : '/' + right.subresource) + "], verbs: [" + right.verb + "]}";
}

}  // namespace

Findings check_api_server(const HostRoot&, const Observed& observed) {
  if (!observed.api_permissions) return {};
  const ApiPermissions& access = *observed.api_permissions;
  const std::string where = access.server.empty() ? "the API server" : access.server;
  const std::string as = access.identity.empty() ? "" : " with the credentials of " + access.identity;
  Findings found;
  for (const std::string& warning : access.warnings)
    found.push_back(
        {.level = Level::kWarning,
         .where = access.identity,
         .what = warning,
         .why = "whoever is between this node and the API server may read and answer what is asked",
         .advice = "give the kubeconfig the cluster's certificate authority"});
  if (!access.trouble.empty()) {
    found.push_back({.level = Level::kProblem,
                     .where = where,
                     .what = "it cannot be asked" + as + ": " + access.trouble,
                     .why = "what the configuration wants of it is not done, or stays as it was",
                     .advice =
                         "see to what it names; `apiServer.kubeconfig` says whose credentials are used, and "
                         "the unit needs the drop-in apiserver.conf"});
    return found;
  }
  for (const ApiPermissions::Answer& answer : access.answers) {
    if (answer.allowed) continue;
    const std::string needs_it = '`' + answer.right.key + "` needs it";
    if (answer.trouble.empty())
      found.push_back(
          {.level = Level::kProblem,
           .where = where,
           .what = "we may not " + answer.right.text() + as,
           .why = needs_it,
           .advice = "use the kubelet's own credentials (`apiServer: {kubeconfig: auto}`), or bind a "
                     "ClusterRole to the account with the rule " +
                     rule(answer.right)});
    else
      found.push_back({.level = Level::kWarning,
                       .where = where,
                       .what = "whether we may " + answer.right.text() + " is not known: " + answer.trouble,
                       .why = needs_it,
                       .advice = "ask it by `kubectl auth can-i` with the same credentials"});
  }
  if (found.empty()) found.push_back({.where = where, .what = "all that is needed is allowed" + as});
  return found;
}

}  // namespace plughost
