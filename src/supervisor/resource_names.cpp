#include "supervisor/resource_names.hpp"

#include <iterator>
#include <utility>

namespace plughost {

const std::string& ResourceNames::claim(const std::string& resource, const std::string& entry) {
  Claim& claim = claims_.try_emplace(resource, Claim{.owner = entry, .refused = {}}).first->second;
  if (claim.owner != entry) claim.refused.insert(entry);
  return claim.owner;
}

void ResourceNames::release(const std::string& resource, const std::string& entry) {
  if (const auto found = claims_.find(resource); found != claims_.end()) release(found, entry);
}

void ResourceNames::release_all(const std::string& entry) {
  for (auto claim = claims_.begin(); claim != claims_.end();) claim = release(claim, entry);
  hopeful_.erase(entry);
}

ResourceNames::Claims::iterator ResourceNames::release(Claims::iterator claim, const std::string& entry) {
  claim->second.refused.erase(entry);
  if (claim->second.owner != entry) return std::next(claim);
  hopeful_.merge(claim->second.refused);
  return claims_.erase(claim);
}

std::set<std::string> ResourceNames::take_hopeful() {
  return std::exchange(hopeful_, {});
}

}  // namespace plughost
