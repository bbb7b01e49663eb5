#include "driver/claim_request.hpp"

#include <utility>

#include "apiserver/api_json.hpp"
#include "dra/claim_json.hpp"

namespace plughost {
namespace {

// plugin/pkg/auth/authorizer/node of Kubernetes. The status has no field that says it.
constexpr std::string_view kUnrelated = "no relationship found between node";

}  // namespace

ApiRequest claim_request(const ClaimRef& claim, std::string_view version) {
  return {.path = "/apis/resource.k8s.io/" + std::string(version.empty() ? "v1" : version) + "/namespaces/" +
                  url_encoded(claim.name_space) + "/resourceclaims/" + url_encoded(claim.name)};
}

std::variant<Claim, NoSuchClaim, ClaimUnknown> claim_in(const ApiAnswer& answer, std::string_view driver) {
  const bool forbidden = answer.code == ApiAnswer::kForbidden;
  if (!answer.ok() && !forbidden && answer.code != ApiAnswer::kNotFound) return ClaimUnknown{answer.trouble};
  const auto json = parse_api_json(answer.body);
  if (!answer.ok()) {
    const auto* const status = std::get_if<Json>(&json);
    if (forbidden)
      return ClaimUnknown{
          .why = answer.trouble,
          .unrelated = status && (*status)["message"].text().find(kUnrelated) != std::string::npos};
    // Where the version is not served, nothing is said of the claim.
    if (status && (*status)["details"]["kind"].text() == "resourceclaims") return NoSuchClaim{};
    return ClaimUnknown{.why = answer.trouble, .unserved = true};
  }
  if (const auto* const why = std::get_if<std::string>(&json))
    return ClaimUnknown{"the API server's answer cannot be read: " + *why};
  auto claim = parse_claim(std::get<Json>(json), driver);
  if (const auto* const why = std::get_if<std::string>(&claim))
    return ClaimUnknown{"the API server's answer cannot be read: " + *why};
  return std::get<Claim>(std::move(claim));
}

}  // namespace plughost
