#pragma once
// A ResourceClaim in the API server: how it is asked for, and what the answer says. Pure functions,
// thread-safe.

#include <string>
#include <string_view>
#include <variant>

#include "apiserver/api_request.hpp"
#include "dra/claim.hpp"

namespace plughost {

// version: of resource.k8s.io; empty: v1.
ApiRequest claim_request(const ClaimRef& claim, std::string_view version);

// There is none of that name.
struct NoSuchClaim {};
// Why it is not known, as a sentence: the next answer may say more.
struct ClaimUnknown {
  std::string why;
  bool unserved = false;  // because the version is not served
  // The Node authorizer says that no pod of this node has the claim, whether or not there is one. It may
  // hear of a pod later than the kubelet.
  bool unrelated = false;
};
std::variant<Claim, NoSuchClaim, ClaimUnknown> claim_in(const ApiAnswer& answer, std::string_view driver);

}  // namespace plughost
