#include "apiserver/find_access.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "apiserver/kubeconfig.hpp"
#include "config/text_file.hpp"
#include "system/kubernetes.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

using Found = std::variant<FoundAccess, std::string>;

// The directories of a program's PATH, as our programs have it.
constexpr const char* kProgramDirectories[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                               "/usr/bin",        "/sbin",          "/bin"};

// Where systems keep the authorities that they trust, in one file: Debian, RHEL, SUSE, Alpine.
constexpr const char* kSystemAuthorities[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

ReadFile reader_of(const HostRoot& host) {
  return [&host](const fs::path& file) { return read_text_file(host.at(file)); };
}

// libcurl would read them in the loop, at each handshake. Empty: it goes well.
std::string take_system_authorities(const HostRoot& host, ApiAccess& access) {
  for (const char* const file : kSystemAuthorities) {
    if (!host.exists(file)) continue;
    auto text = reader_of(host)(file);
    if (const auto* const trouble = std::get_if<FileTrouble>(&text))
      return "the authorities that this machine trusts: " + std::string(file) + ' ' + trouble->what;
    access.ca = std::get<std::string>(std::move(text));
    return {};
  }
  return access.source + " names no certificate-authority for " + access.server +
         ", and this machine has no file of authorities that it trusts, such as " + kSystemAuthorities[0];
}

Found in_kubeconfig(const HostRoot& host, const std::string& file) {
  const ReadFile read = reader_of(host);
  const auto text = read(file);
  if (const auto* const trouble = std::get_if<FileTrouble>(&text))
    return "the kubeconfig " + file + ' ' + trouble->what;
  auto access = read_kubeconfig(std::get<std::string>(text), file, read);
  if (auto* const why = std::get_if<std::string>(&access)) return std::move(*why);
  FoundAccess found{.access = std::get<ApiAccess>(std::move(access))};
  found.node = node_in_certificate(found.access.certificate);
  if (ApiAccess& own = found.access; own.ca.empty() && !own.insecure && own.server.starts_with("https://")) {
    if (std::string trouble = take_system_authorities(host, own); !trouble.empty()) return trouble;
  }
  if (found.access.exec && found.access.exec->command[0].find('/') == std::string::npos) {
    std::string& program = found.access.exec->command[0];
    const auto* const directory = std::ranges::find_if(kProgramDirectories, [&](const char* each) {
      return ::access(host.at(fs::path(each) / program).c_str(), X_OK) == 0;
    });
    if (directory == std::end(kProgramDirectories)) {
      return found.access.exec->where + ": the program '" + program +
             "' is in none of the directories that programs are looked for in; write its whole path" +
             (found.access.exec->install_hint.empty() ? "" : ". " + found.access.exec->install_hint);
    }
    program = fs::path(*directory) / program;
  }
  return found;
}

Found in_cluster(const HostRoot& host, const WhereAccess& where) {
  const std::string token_file = std::string(kServiceAccount) + "/token";
  const std::string ca_file = std::string(kServiceAccount) + "/ca.crt";
  const ReadFile read = reader_of(host);
  auto token = read(token_file);
  auto ca = read(ca_file);
  if (const auto* const trouble = std::get_if<FileTrouble>(&token))
    return "the pod's account: " + token_file + ' ' + trouble->what;
  if (const auto* const trouble = std::get_if<FileTrouble>(&ca))
    return "the pod's account: " + ca_file + ' ' + trouble->what;
  const bool is_v6 = where.service_host.find(':') != std::string::npos;
  ApiAccess access{.source = kServiceAccount};
  access.server = "https://" + (is_v6 ? '[' + where.service_host + ']' : where.service_host) + ':' +
                  (where.service_port.empty() ? "443" : where.service_port);
  access.ca = std::get<std::string>(std::move(ca));
  access.token = std::get<std::string>(std::move(token));
  access.token.erase(access.token.find_last_not_of(" \t\r\n") + 1);
  if (access.token.empty()) return "the pod's account: " + token_file + " is empty";
  return FoundAccess{.access = std::move(access)};
}

// Of the one that runs here, where several were here once.
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
