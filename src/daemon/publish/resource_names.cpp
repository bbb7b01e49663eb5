#include "daemon/publish/resource_names.hpp"

#include <iterator>
#include <string_view>
#include <unordered_map>
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
  waiting_.erase(entry);
}

ResourceNames::Claims::iterator ResourceNames::release(Claims::iterator claim, const std::string& entry) {
  claim->second.refused.erase(entry);
  if (claim->second.owner != entry) return std::next(claim);
  waiting_.merge(claim->second.refused);
  return claims_.erase(claim);
}

std::set<std::string> ResourceNames::take_waiting() { return std::exchange(waiting_, {}); }

SharedIds shared_ids(std::span<const ListedIds> lists) {
  SharedIds shared;
  if (lists.size() < 2) return shared;
  std::unordered_map<std::string_view, const ListedIds*> owners;
  std::set<std::string_view> ids;
  for (const ListedIds& list : lists) {
    for (const Device& device : list.snapshot->inventory.devices()) {
      const auto [owner, is_first] = owners.try_emplace(device.id, &list);
      if (is_first || !ids.insert(device.id).second || *ids.begin() != device.id) continue;
      shared.first = device.id;
      shared.one = owner->second;
      shared.other = &list;
    }
  }
  shared.count = ids.size();
  return shared;
}

}  // namespace plughost
