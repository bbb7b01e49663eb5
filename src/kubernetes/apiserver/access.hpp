#pragma once
// Finds the address of the API server and the credentials for it: in a kubeconfig, a pod's account, or the
// kubelet's own file. Thread-safe; find_access() may block on the file system.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/document/text_file.hpp"
#include "host/hardware/host_root.hpp"

namespace plughost {

// An exec plugin: a program that returns credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::vector<std::string> command;                              // the program's path and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // in addition to plughost's own
  bool wants_cluster = false;                                    // the program gets the cluster's data
  std::string install_hint;
  std::string where;  // "file:line:col"

  bool operator==(const ExecPlugin&) const = default;
};

struct ApiAccess {
  std::string source;           // "/etc/kubernetes/kubelet.conf"
  std::string server;           // "https://10.0.0.1:6443", without a trailing '/'
  std::string tls_server_name;  // the name that the certificate must have; empty: the host in `server`
  bool insecure = false;        // the server's certificate is not verified
  std::string ca;               // PEM; empty: http, or insecure
  std::string proxy;            // a URL; empty: none
  std::string certificate;      // PEM, with key; empty: none
  std::string key;
  std::string token;
  std::string user;  // with password
  std::string password;
  std::optional<ExecPlugin> exec;  // returns certificate and key, or the token
  std::string node;                // the node that the credentials belong to; empty: none, or unknown
  std::vector<std::string> warnings;

  bool operator==(const ApiAccess&) const = default;
};

// Returns "10.0.0.1:6443" for "https://10.0.0.1:6443/k8s/clusters/one".
std::string_view authority_of(std::string_view url);

using ReadFile = std::function<std::variant<std::string, FileError>(const std::filesystem::path& file)>;

// Returns the credentials of the current context. `read` returns the content of a file; relative paths are
// relative to the kubeconfig. On failure, returns the reason: "file:line:col: …". Runs no exec plugin.
std::variant<ApiAccess, std::string> read_kubeconfig(const std::string& text,
                                                     const std::filesystem::path& file, const ReadFile& read);

// Returns a node's name, "worker-1", from a client certificate for "system:node:worker-1"; empty if the
// certificate is not a node's.
std::string node_in_certificate(std::string_view pem);

struct WhereAccess {
  std::string kubeconfig;    // a file; "auto": the in-cluster account, or the kubelet's kubeconfig
  std::string service_host;  // $KUBERNETES_SERVICE_HOST
  std::string service_port;  // $KUBERNETES_SERVICE_PORT
};

inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

// Returns the present credentials, with all files read, or why there are none, as a sentence.
std::variant<ApiAccess, std::string> find_access(const HostRoot& host, const WhereAccess& where);

}  // namespace plughost
