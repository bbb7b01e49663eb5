#include "kubernetes/apiserver/access.hpp"

#include <absl/strings/escaping.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "base/document/yaml.hpp"
#include "base/text/ascii.hpp"
#include "base/text/network_address.hpp"
#include "host/services/kubernetes.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPem = "-----BEGIN ";

// Thrown if the credentials cannot be used.
struct Unusable {
  std::string why;
};

[[noreturn]] void refuse(const Node& at, const std::string& what) {
  throw Unusable{at.mark.text() + ": " + what};
}

bool is_there(const Node* node) {
  return node && node->kind != Node::Kind::kNull &&
         !(node->kind == Node::Kind::kScalar && node->scalar.empty());
}

// Returns nullptr if the key is absent or has no value.
const Node* text_node(const Node& map, std::string_view key) {
  const Node* const node = map.find(key);
  if (!is_there(node)) return nullptr;
  if (node->kind != Node::Kind::kScalar)
    refuse(*node, '`' + std::string(key) + "` is a text, and this is " + node->kind_name());
  return node;
}

std::string text_of(const Node& map, std::string_view key) {
  const Node* const node = text_node(map, key);
  return node ? node->scalar : std::string();
}

bool flag_of(const Node& map, std::string_view key) {
  const Node* const node = text_node(map, key);
  if (!node || node->scalar == "false") return false;
  if (node->scalar == "true") return true;
  refuse(*node, '`' + std::string(key) + "` is true or false, and this is " + quote(node->scalar));
}

const std::vector<Node>& items_of(const Node& map, std::string_view key) {
  static const std::vector<Node> kNone;
  const Node* const node = map.find(key);
  if (!is_there(node)) return kNone;
  if (node->kind != Node::Kind::kSequence)
    refuse(*node, '`' + std::string(key) + "` is a list, and this is " + node->kind_name());
  return node->items;
}

// Finds an item of `clusters: [{name: NAME, cluster: {…}}]`, or of a similar list.
const Node& named(const Node& document, std::string_view list, std::string_view kind, const Node& name) {
  for (const Node& item : items_of(document, list)) {
    if (text_of(item, "name") != name.scalar) continue;
    const Node* const found = item.find(kind);
    if (found && found->kind == Node::Kind::kMap) return *found;
    refuse(item, '`' + std::string(list) + "` has no `" + std::string(kind) + "` for " + quote(name.scalar));
  }
  refuse(name, "`" + std::string(list) + "` has no " + quote(name.scalar));
}

class Reader {
 public:
  Reader(fs::path file, const ReadFile& read) : file_(std::move(file)), read_(read) {}

  ApiAccess read_document(const Node& document) {
    if (document.kind != Node::Kind::kMap)
      refuse(document, std::string("this is no kubeconfig, but ") + document.kind_name());
    access_.source = file_;
    const Node* const current = text_node(document, "current-context");
    if (!current) refuse(document, "`current-context` is missing: it names one of the `contexts`");
    const Node& context = named(document, "contexts", "context", *current);
    const Node* const cluster = text_node(context, "cluster");
    if (!cluster) refuse(context, "the context " + quote(current->scalar) + " has no `cluster`");
    const Node& server_of = named(document, "clusters", "cluster", *cluster);
    read_cluster(server_of);
    if (const Node* const user = text_node(context, "user"))
      read_user(named(document, "users", "user", *user));
    const bool is_secret = !access_.token.empty() || !access_.password.empty() || access_.exec;
    if (is_secret && access_.server.starts_with("http://") &&
        !names_this_machine(authority_of(access_.server))) {
      access_.warnings.push_back(server_of.find("server")->mark.text() +
                                 ": server: http:// sends the token or password over the network in clear "
                                 "text; write https://, with a certificate-authority");
    }
    return std::move(access_);
  }

 private:
  void read_cluster(const Node& cluster) {
    const Node* const server = text_node(cluster, "server");
    if (!server) refuse(cluster, "the cluster has no `server`");
    access_.server = server->scalar;
    if (!access_.server.starts_with("https://") && !access_.server.starts_with("http://"))
      refuse(*server, "`server` begins with https://, and this is " + quote(server->scalar));
    if (access_.server.find_first_of(" \t\r\n?#@") != std::string::npos)
      refuse(*server,
             "`server` is a URL such as https://10.0.0.1:6443, and this is " + quote(server->scalar));
    while (access_.server.ends_with('/')) access_.server.pop_back();
    access_.tls_server_name = text_of(cluster, "tls-server-name");
    access_.proxy = text_of(cluster, "proxy-url");
    access_.insecure = flag_of(cluster, "insecure-skip-tls-verify");
    if (access_.insecure) {
      access_.warnings.push_back(cluster.find("insecure-skip-tls-verify")->mark.text() +
                                 ": insecure-skip-tls-verify: TLS is not verified, so that a man in the "
                                 "middle can impersonate the API server");
    }
    access_.ca = pem_of(cluster, "certificate-authority");
  }

  void read_user(const Node& user) {
    for (const std::string_view key : {"as", "as-groups", "as-uid", "as-user-extra", "auth-provider"}) {
      if (const Node* const node = user.find(key); is_there(node))
        refuse(*node, '`' + std::string(key) + "` is not supported; give plughost an identity of its own");
    }
    access_.certificate = pem_of(user, "client-certificate");
    access_.key = pem_of(user, "client-key");
    access_.node = node_in_certificate(access_.certificate);
    if (access_.certificate.empty() != access_.key.empty())
      refuse(user, access_.key.empty() ? "there is a `client-certificate` and no `client-key`"
                                       : "there is a `client-key` and no `client-certificate`");
    access_.token = text_of(user, "token");
    if (const Node* const file = text_node(user, "tokenFile"))
      access_.token = without_blanks(content_of_file(*file));
    access_.user = text_of(user, "username");
    access_.password = text_of(user, "password");
    if (access_.token.find_first_of("\r\n") != std::string::npos)
      refuse(user, "the token has a line's end in it");
    if (const Node* const exec = user.find("exec"); is_there(exec)) read_exec(*exec);
  }

  void read_exec(const Node& exec) {
    if (!access_.token.empty() || !access_.certificate.empty())
      return;  // the token and the certificate take precedence, as in kubectl
    ExecPlugin plugin{.api_version = text_of(exec, "apiVersion"),
                      .wants_cluster = flag_of(exec, "provideClusterInfo"),
                      .install_hint = text_of(exec, "installHint"),
                      .where = exec.mark.text()};
    if (plugin.api_version != "client.authentication.k8s.io/v1" &&
        plugin.api_version != "client.authentication.k8s.io/v1beta1")
      refuse(exec, "`exec` has the apiVersion " + quote(plugin.api_version) +
                       "; client.authentication.k8s.io/v1 and /v1beta1 are known");
    const Node* const command = text_node(exec, "command");
    if (!command) refuse(exec, "`exec` has no `command`");
    if (text_of(exec, "interactiveMode") == "Always")
      refuse(exec, "`exec` needs a terminal (interactiveMode: Always), and there is none");
    const bool has_directory = command->scalar.find('/') != std::string::npos;
    plugin.command.push_back(has_directory ? beside(command->scalar).string() : command->scalar);
    for (const Node& argument : items_of(exec, "args")) plugin.command.push_back(argument.scalar);
    for (const Node& variable : items_of(exec, "env")) {
      const Node* const name = text_node(variable, "name");
      if (!name || name->scalar.find('=') != std::string::npos)
        refuse(variable, "an item of `env` has a `name` without '=', and a `value`");
      plugin.environment.emplace_back(name->scalar, text_of(variable, "value"));
    }
    access_.exec = std::move(plugin);
  }

  // Returns KEY-data, in base64, or else the content of the file KEY; empty if neither is present.
  std::string pem_of(const Node& map, const std::string& key) {
    std::string pem;
    std::string named = key + "-data";
    const Node* node = text_node(map, named);
    if (node) {
      if (!absl::Base64Unescape(node->scalar, &pem)) refuse(*node, '`' + named + "` is no base64");
    } else {
      named = key;
      node = text_node(map, named);
      if (!node) return {};
      pem = content_of_file(*node);
    }
    if (pem.find(kPem) == std::string::npos)
      refuse(*node, "what `" + named + "` has is no PEM: it has no -----BEGIN");
    return pem;
  }

  std::string content_of_file(const Node& path) const {
    const fs::path file = beside(path.scalar);
    auto content = read_(file);
    if (const auto* const error = std::get_if<FileError>(&content))
      refuse(path, file.string() + ' ' + error->what);
    std::string text = std::get<std::string>(std::move(content));
    if (text.empty()) refuse(path, file.string() + " is empty");
    return text;
  }

  fs::path beside(const fs::path& path) const {
    return path.is_absolute() ? path : (file_.parent_path() / path).lexically_normal();
  }

  fs::path file_;
  const ReadFile& read_;
  ApiAccess access_;
};

using Found = std::variant<ApiAccess, std::string>;

// The directories in the PATH of programs that plughost starts.
constexpr const char* kProgramDirectories[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                               "/usr/bin",        "/sbin",          "/bin"};

// The files with the system's trusted authorities: Debian, RHEL, SUSE, Alpine.
constexpr const char* kSystemAuthorities[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

ReadFile reader_of(const HostRoot& host) {
  return [&host](const fs::path& file) { return read_text_file(host.at(file)); };
}

// Reads the authorities here: libcurl would do so in the loop at each handshake. Returns the error, or "".
std::string take_system_authorities(const HostRoot& host, ApiAccess& access) {
  for (const char* const file : kSystemAuthorities) {
    if (!host.exists(file)) continue;
    auto text = reader_of(host)(file);
    if (const auto* const error = std::get_if<FileError>(&text))
      return "the authorities that this machine trusts: " + std::string(file) + ' ' + error->what;
    access.ca = std::get<std::string>(std::move(text));
    return {};
  }
  return access.source + " names no certificate-authority for " + access.server +
         ", and this machine has no file of authorities that it trusts, such as " + kSystemAuthorities[0];
}

Found in_kubeconfig(const HostRoot& host, const std::string& file) {
  const ReadFile read = reader_of(host);
  const auto text = read(file);
  if (const auto* const error = std::get_if<FileError>(&text))
    return "the kubeconfig " + file + ' ' + error->what;
  auto read_access = read_kubeconfig(std::get<std::string>(text), file, read);
  auto* const access = std::get_if<ApiAccess>(&read_access);
  if (!access) return read_access;
  if (access->ca.empty() && !access->insecure && access->server.starts_with("https://")) {
    if (std::string error = take_system_authorities(host, *access); !error.empty()) return error;
  }
  if (access->exec && access->exec->command[0].find('/') == std::string::npos) {
    std::string& program = access->exec->command[0];
    const auto* const directory = std::ranges::find_if(kProgramDirectories, [&](const char* each) {
      return ::access(host.at(fs::path(each) / program).c_str(), X_OK) == 0;
    });
    if (directory == std::end(kProgramDirectories)) {
      return access->exec->where + ": the program '" + program +
             "' is in none of the directories of PATH; write its whole path" +
             (access->exec->install_hint.empty() ? "" : ". " + access->exec->install_hint);
    }
    program = fs::path(*directory) / program;
  }
  return read_access;
}

Found in_cluster(const HostRoot& host, const WhereAccess& where) {
  const std::string token_file = std::string(kServiceAccount) + "/token";
  const std::string ca_file = std::string(kServiceAccount) + "/ca.crt";
  const ReadFile read = reader_of(host);
  auto token = read(token_file);
  auto ca = read(ca_file);
  if (const auto* const error = std::get_if<FileError>(&token))
    return "the pod's account: " + token_file + ' ' + error->what;
  if (const auto* const error = std::get_if<FileError>(&ca))
    return "the pod's account: " + ca_file + ' ' + error->what;
  const bool is_v6 = where.service_host.find(':') != std::string::npos;
  ApiAccess access{.source = kServiceAccount};
  access.server = "https://" + (is_v6 ? '[' + where.service_host + ']' : where.service_host) + ':' +
                  (where.service_port.empty() ? "443" : where.service_port);
  access.ca = std::get<std::string>(std::move(ca));
  access.token = std::get<std::string>(std::move(token));
  access.token.erase(access.token.find_last_not_of(" \t\r\n") + 1);
  if (access.token.empty()) return "the pod's account: " + token_file + " is empty";
  return access;
}

// Returns the kubelet's kubeconfig; if several distributions have left one, the running distribution's.
std::string kubelets_own(const HostRoot& host) {
  std::vector<std::string> there;
  const auto look = [&](const Distribution& each) {
    for (const std::string_view file : each.kubeconfigs) {
      if (host.exists(std::string(file)) && std::ranges::find(there, file) == there.end())
        there.emplace_back(file);
    }
  };
  for (const Distribution& each : distributions()) look(each);
  if (there.size() < 2) return there.empty() ? "" : there.front();
  const std::vector<std::string> all = std::exchange(there, {});
  for (const Sign& sign : signs_of_kubernetes(host)) look(*sign.distribution);
  return there.empty() ? all.front() : there.front();
}

}  // namespace

std::string_view authority_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  return url.substr(0, url.find('/'));
}

std::variant<ApiAccess, std::string> read_kubeconfig(const std::string& text, const fs::path& file,
                                                     const ReadFile& read) {
  Diagnostics diagnostics;
  const auto documents = parse_documents(text, file, diagnostics);
  for (const Diagnostic& each : diagnostics.all()) {
    if (each.severity == Diagnostic::Severity::kError) return each.text();
  }
  if (!documents || documents->empty()) return file.string() + ": this is no kubeconfig: it is empty";
  try {
    return Reader(file, read).read_document(documents->front());
  } catch (const Unusable& unusable) {
    return unusable.why;
  }
}

std::string node_in_certificate(std::string_view pem) {
  static constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  static constexpr std::string_view kEnd = "-----END";
  // The attribute commonName, OID 2.5.4.3, followed by the text's type and its length in one byte.
  static constexpr std::string_view kCommonName = "\x06\x03\x55\x04\x03";
  static constexpr std::string_view kNode = "system:node:";
  const std::size_t begin = pem.find(kBegin);
  if (begin == std::string_view::npos) return {};
  pem.remove_prefix(begin + kBegin.size());
  const std::string_view text = pem.substr(0, pem.find(kEnd));
  std::string certificate;
  if (!absl::Base64Unescape({text.data(), text.size()}, &certificate)) return {};
  const std::string_view bytes = certificate;
  for (std::size_t at = bytes.find(kCommonName); at != std::string_view::npos;
       at = bytes.find(kCommonName, at + 1)) {
    const std::string_view rest = bytes.substr(at + kCommonName.size());
    if (rest.size() < 2) break;
    const std::size_t length = static_cast<unsigned char>(rest[1]);
    if (length >= 0x80 || rest.size() < 2 + length) continue;
    const std::string_view name = rest.substr(2, length);
    if (name.starts_with(kNode)) return std::string(name.substr(kNode.size()));
  }
  return {};
}

Found find_access(const HostRoot& host, const WhereAccess& where) {
  if (where.kubeconfig != "auto") return in_kubeconfig(host, where.kubeconfig);
  if (!where.service_host.empty() && host.exists(std::string(kServiceAccount) + "/token"))
    return in_cluster(host, where);
  if (const std::string file = kubelets_own(host); !file.empty()) return in_kubeconfig(host, file);
  std::string looked;
  for (const Distribution& each : distributions()) {
    for (const std::string_view file : each.kubeconfigs) {
      if (looked.find(file) == std::string::npos) looked += (looked.empty() ? "" : ", ") + std::string(file);
    }
  }
  return "no credentials were found: neither a pod's account below " + std::string(kServiceAccount) +
         " nor the kubelet's own (" + looked + "); write `apiServer: {kubeconfig: FILE}`";
}

}  // namespace plughost
