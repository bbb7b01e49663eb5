#pragma once
// Looks for our credentials. May block on the file system; any thread.

#include <string>
#include <variant>

#include "apiserver/access.hpp"
#include "host/host_root.hpp"

namespace plughost {

struct WhereAccess {
  std::string kubeconfig;    // a file; "auto": the in-cluster account, or the kubelet's own
  std::string service_host;  // $KUBERNETES_SERVICE_HOST
  std::string service_port;  // $KUBERNETES_SERVICE_PORT
};

struct FoundAccess {
  ApiAccess access;
  std::string node;  // that the credentials are of; empty: of none, or they do not say

  bool operator==(const FoundAccess&) const = default;
};

inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

// What is there now, all files read. Or why there is nothing that can be used, as a sentence.
std::variant<FoundAccess, std::string> find_access(const HostRoot& host, const WhereAccess& where);

}  // namespace plughost
