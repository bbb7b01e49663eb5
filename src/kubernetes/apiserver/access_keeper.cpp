#include "kubernetes/apiserver/access_keeper.hpp"

#include <absl/strings/escaping.h>
#include <absl/time/time.h>

#include <algorithm>
#include <utility>

#include "base/document/diagnostics.hpp"
#include "base/text/json.hpp"
#include "host/programs/program.hpp"
#include "kubernetes/apiserver/api_request.hpp"

namespace plughost {
namespace {

// Credentials that expire this soon count as expired.
constexpr std::chrono::seconds kBeforeEnd{10};
constexpr std::size_t kPluginsAtOnce = 1;

}  // namespace

std::string exec_info(const ApiAccess& access) {
  Json spec{{"interactive", false}};
  if (access.exec->wants_cluster) {
    Json cluster{{"server", access.server}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (access.insecure) cluster["insecure-skip-tls-verify"] = true;
    if (!access.ca.empty()) cluster["certificate-authority-data"] = absl::Base64Escape(access.ca);
    if (!access.proxy.empty()) cluster["proxy-url"] = access.proxy;
    spec["cluster"] = cluster;
  }
  return Json{{"kind", "ExecCredential"}, {"apiVersion", access.exec->api_version}, {"spec", spec}}.dump();
}

std::variant<ExecCredential, std::string> read_exec_credential(std::string_view output,
                                                               const ExecPlugin& plugin) {
  auto parsed = parse_api_json(output);
  if (const auto* const error = std::get_if<std::string>(&parsed))
    return "its output cannot be read: " + *error;
  const Json& json = std::get<Json>(parsed);
  if (json["kind"].text() != "ExecCredential")
    return "its output is no ExecCredential, but of the kind " + quote(json["kind"].text());
  if (json["apiVersion"].text() != plugin.api_version)
    return "its answer has the apiVersion " + quote(json["apiVersion"].text()) + ", and not " +
           plugin.api_version + ", which the kubeconfig names";
  const Json& status = json["status"];
  ExecCredential credential{.token = status["token"].text(),
                            .certificate = status["clientCertificateData"].text(),
                            .key = status["clientKeyData"].text()};
  if (credential.token.empty() && credential.certificate.empty())
    return "its answer has neither a token nor a certificate";
  if (credential.certificate.empty() != credential.key.empty())
    return "its answer has only one of clientCertificateData and clientKeyData";
  if (credential.token.find_first_of("\r\n") != std::string::npos)
    return "its answer has a token with a line's end in it";
  if (const std::string& expires = status["expirationTimestamp"].text(); !expires.empty()) {
    credential.expires = time_in(expires);
    if (!credential.expires) return "its answer has the expirationTimestamp " + quote(expires);
  }
  return credential;
}

std::optional<std::chrono::system_clock::time_point> time_in(std::string_view rfc3339) {
  // std::chrono::system_clock counts nanoseconds and ends in 2262. For "never", some programs write the year
  // 9999, and Go programs write the year 1.
  static const absl::Time kFirst = absl::UnixEpoch();
  static const absl::Time kLast = absl::FromUnixSeconds(7'258'118'400);  // 2200-01-01
  // abseil also accepts a zone without its colon.
  const bool has_zone = rfc3339.ends_with('Z') || rfc3339.ends_with('z') ||
                        (rfc3339.size() > 3 && rfc3339[rfc3339.size() - 3] == ':');
  absl::Time time;
  if (!has_zone || !absl::ParseTime(absl::RFC3339_full, {rfc3339.data(), rfc3339.size()}, &time, nullptr))
    return std::nullopt;
  return absl::ToChronoTime(std::clamp(time, kFirst, kLast));
}

AccessKeeper::AccessKeeper(Workers& workers, Programs& programs, Options options)
    : workers_(workers), options_(std::move(options)), queue_(programs, Purpose::kList, kPluginsAtOnce) {}

bool AccessKeeper::fresh() const {
  if (!credentials_ || !read_at_ || Clock::now() - *read_at_ >= options_.age) return false;
  return !expires_ || std::chrono::system_clock::now() + kBeforeEnd < *expires_;
}

void AccessKeeper::want(bool anew, Wanted wanted) {
  // While a read hangs in a file system, another read would only block a second worker.
  if (hangs_ || (!anew && !reading_ && fresh())) return wanted(credentials_, credentials_ ? "" : error_);
  wanted_.push_back(std::move(wanted));
  refused_ = refused_ || anew;
  if (!reading_) read();
}

void AccessKeeper::read() {
  reading_ = true;
  auto found = std::make_shared<std::variant<ApiAccess, std::string>>();
  workers_.run([found, host = options_.host, where = options_.where] { *found = find_access(host, where); },
               lifetime_.bound([this, found] {
                 if (!std::exchange(hangs_, false)) on_found(std::move(*found));
               }),
               options_.file_deadline, lifetime_.bound([this] {
                 hangs_ = true;
                 on_found("reading the credentials takes longer than " +
                          duration_text(options_.file_deadline) +
                          ": the file system that they lie on does not answer");
               }));
}

void AccessKeeper::on_found(std::variant<ApiAccess, std::string> found) {
  if (auto* const error = std::get_if<std::string>(&found)) return finish(std::move(*error));
  auto& access = std::get<ApiAccess>(found);
  const bool same = found_ == access;
  found_ = std::move(access);
  if (!found_->exec) {
    expires_.reset();
    if (!same || !credentials_) credentials_ = std::make_shared<const ApiAccess>(*found_);
    return finish({});
  }
  const bool valid =
      credentials_ && !refused_ && (!expires_ || std::chrono::system_clock::now() + kBeforeEnd < *expires_);
  if (same && valid) return finish({});
  run_plugin();
}

void AccessKeeper::run_plugin() {
  Program program = document_program(found_->exec->command);
  for (const auto& [name, value] : found_->exec->environment)
    program.environment.push_back(name + '=' + value);
  program.environment.push_back("KUBERNETES_EXEC_INFO=" + exec_info(*found_));
  program.timeout = options_.plugin_deadline;
  program.timeout_from = Program::TimeoutFrom::kNow;
  plugin_.emplace(queue_, std::move(program), [this](const Ending& ending) { on_plugin(ending); });
}

void AccessKeeper::on_plugin(const Ending& ending) {
  const ExecPlugin& plugin = *found_->exec;
  const auto error = [&](const std::string& why) {
    return plugin.where + ": " + plugin.command[0] + ": " + why +
           (plugin.install_hint.empty() ? "" : ". " + plugin.install_hint);
  };
  if (std::string why = why_failed({.what = "the program that gives credentials"}, ending); !why.empty())
    return finish(error(why));
  auto read = read_exec_credential(ending.output, plugin);
  if (const auto* const why = std::get_if<std::string>(&read)) return finish(error(*why));
  auto& credential = std::get<ExecCredential>(read);
  ApiAccess access = *found_;
  access.token = std::move(credential.token);
  access.certificate = std::move(credential.certificate);
  access.key = std::move(credential.key);
  expires_ = credential.expires;
  access.node = node_in_certificate(access.certificate);
  if (!credentials_ || *credentials_ != access)
    credentials_ = std::make_shared<const ApiAccess>(std::move(access));
  finish({});
}

void AccessKeeper::finish(std::string error) {
  reading_ = false;
  refused_ = false;
  error_ = std::move(error);
  if (error_.empty()) read_at_ = Clock::now();
  const auto wanted = std::exchange(wanted_, {});
  const Credentials credentials = credentials_;
  const std::string why = credentials ? std::string() : error_;
  for (const Wanted& each : wanted) each(credentials, why);
}

}  // namespace plughost
