#pragma once
// What the kubelet asks of a driver, sorted out. Pure functions, thread-safe.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "dra/claim.hpp"

namespace plughost {

// As many as anybody asks for at once: those of one pod.
inline constexpr std::size_t kMostClaims = 1000;

struct DraRequest {
  std::vector<ClaimRef> claims;                // each uid once, fit to be part of a path
  std::map<std::string, std::string> refused;  // the other uids, and why: a sentence
};

DraRequest sort_claims(std::vector<ClaimRef> asked);

}  // namespace plughost
