#pragma once
// Who we are for the API server, and where it is. Plain values.

#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::vector<std::string> warnings;

  bool operator==(const ApiAccess&) const = default;
};

}  // namespace plughost
