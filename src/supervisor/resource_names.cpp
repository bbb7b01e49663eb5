#include "supervisor/resource_names.hpp"

#include <utility>

namespace plughost {

const std::string& ResourceNames::claim(const std::string& resource, const std::string& entry) {
  Claim& claim = claims_.try_emplace(resource, Claim{.owner = entry, .refused = {}}).first->second;
  if (claim.owner != entry) claim.refused.insert(entry);
  return claim.owner;
}

void ResourceNames::release(const std::string& resource, const std::string& entry) {
  const auto found = claims_.find(resource);
  if (found == claims_.end()) return;
  Claim& claim = found->second;
  claim.refused.erase(entry);
  if (claim.owner != entry) return;
  hopeful_.merge(claim.refused);
  claims_.erase(found);
}

void ResourceNames::release_all(const std::string& entry) {
  std::set<std::string> resources;
  for (const auto& [resource, claim] : claims_) resources.insert(resource);
  for (const std::string& resource : resources) release(resource, entry);
  hopeful_.erase(entry);
}

std::set<std::string> ResourceNames::take_hopeful() {
  return std::exchange(hopeful_, {});
}

}  // namespace plughost
