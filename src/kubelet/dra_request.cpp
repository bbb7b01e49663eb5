#include "kubelet/dra_request.hpp"

#include <set>
#include <utility>

#include "base/text.hpp"
#include "device/first_names.hpp"
#include "dra/names.hpp"

namespace plughost {

DraRequest sort_claims(std::vector<ClaimRef> asked) {
  constexpr std::size_t kLongestShown = 80;
  std::map<std::string, ClaimRef> claims;
  DraRequest request;
  for (ClaimRef& claim : asked) {
    std::string trouble = claim_name_trouble(claim);
    const auto former = claims.find(claim.uid);
    if (trouble.empty() && former != claims.end() && former->second != claim)
      trouble = "another claim of the same request has its uid";
    if (trouble.empty()) {
      claims.emplace(claim.uid, std::move(claim));
      continue;
    }
    claims.erase(claim.uid);
    request.refused.emplace(
        claim.uid,
        "the kubelet asks for " + printable(shortened(claim.text(), kLongestShown)) + ", and " + trouble);
  }
  for (auto& [uid, claim] : claims) {
    if (!request.refused.contains(uid)) request.claims.push_back(std::move(claim));
  }
  return request;
}

}  // namespace plughost
