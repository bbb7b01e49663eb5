#include "apiserver/exec_credential.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>

#include "apiserver/api_request.hpp"
#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "document/diagnostics.hpp"

namespace plughost {

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
  if (const auto* const trouble = std::get_if<std::string>(&parsed))
    return "its output cannot be read: " + *trouble;
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
  using namespace std::chrono;
  // 2026-11-21T18:00:00
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (rfc3339.size() <= kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const char c = rfc3339[i];
    const bool fits = kForm[i] == 'd' ? is_digit(c) : to_upper(c) == kForm[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t length) {
    return number_in<unsigned>(rfc3339.substr(at, length)).value_or(0);
  };
  const year_month_day date(year(static_cast<int>(number(0, 4))), month(number(5, 2)), day(number(8, 2)));
  const unsigned hour = number(11, 2);
  const unsigned minute = number(14, 2);
  const unsigned second = number(17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  std::string_view zone = rfc3339.substr(kForm.size());
  if (zone.starts_with('.')) {
    std::size_t end = 1;
    while (end < zone.size() && is_digit(zone[end])) ++end;
    zone.remove_prefix(end);
  }
  minutes ahead{0};
  if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':') {
    const auto hours_of = number_in<unsigned>(zone.substr(1, 2));
    const auto minutes_of = number_in<unsigned>(zone.substr(4, 2));
    if (!hours_of || !minutes_of) return std::nullopt;
    ahead = hours(*hours_of) + minutes(*minutes_of);
    if (zone[0] == '-') ahead = -ahead;
  } else if (zone != "Z" && zone != "z") {
    return std::nullopt;
  }
  // A system_clock counts nanoseconds: its time ends in 2262. "Never" is the year 9999 to some, and 1 to Go.
  constexpr sys_seconds kFirst = sys_days(year(1970) / January / 1);
  constexpr sys_seconds kLast = sys_days(year(2200) / January / 1);
  return std::clamp<sys_seconds>(sys_days(date) + hours(hour) + minutes(minute) + seconds(second) - ahead,
                                 kFirst, kLast);
}

}  // namespace plughost
