#pragma once
// Who we are for the API server, and where it is: what a kubeconfig says, or a pod's account, or whatever is
// found. Thread-safe; find_access() may block on the file system.

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

// A program that gives credentials: client.authentication.k8s.io.
struct ExecPlugin {
  std::string api_version;
  std::vector<std::string> command;                              // the path first
  std::vector<std::pair<std::string, std::string>> environment;  // beside ours
  bool wants_cluster = false;                                    // it is told of the cluster
  std::string install_hint;
  std::string where;  // "file:line:col"

  bool operator==(const ExecPlugin&) const = default;
};

struct ApiAccess {
  std::string source;           // "/etc/kubernetes/kubelet.conf"
  std::string server;           // "https://10.0.0.1:6443", without a '/' at its end
  std::string tls_server_name;  // that its certificate is for; empty: the server's own
  bool insecure = false;        // its certificate is not verified
  std::string ca;               // PEM; empty: http, or insecure
  std::string proxy;            // a URL; empty: none
  std::string certificate;      // PEM, with key; empty: none
  std::string key;
  std::string token;
  std::string user;  // with password
  std::string password;
  std::optional<ExecPlugin> exec;  // gives certificate and key, or the token
  std::string node;                // whose they are; empty: of none, or they do not say
  std::vector<std::string> warnings;

  bool operator==(const ApiAccess&) const = default;
};

// Returns "10.0.0.1:6443" of "https://10.0.0.1:6443/k8s/clusters/one".
std::string_view authority_of(std::string_view url);

using ReadFile = std::function<std::variant<std::string, FileError>(const std::filesystem::path& file)>;

// What its current context says, with the files that it names, which read gives; those that are relative are
// beside it. Or why it cannot be used: "file:line:col: …". exec is not run.
std::variant<ApiAccess, std::string> read_kubeconfig(const std::string& text,
                                                     const std::filesystem::path& file, const ReadFile& read);

// Of an identity of a node, "worker-1": its name in a client certificate, which Kubernetes has as
// "system:node:worker-1". Empty: it is no node's.
std::string node_in_certificate(std::string_view pem);

struct WhereAccess {
  std::string kubeconfig;    // a file; "auto": the in-cluster account, or the kubelet's own
  std::string service_host;  // $KUBERNETES_SERVICE_HOST
  std::string service_port;  // $KUBERNETES_SERVICE_PORT
};

inline constexpr const char* kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

// What is there now, all files read. Or why there is nothing that can be used, as a sentence.
std::variant<ApiAccess, std::string> find_access(const HostRoot& host, const WhereAccess& where);

}  // namespace plughost
