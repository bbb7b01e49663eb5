#include "supervisor/shared_ids.hpp"

#include <set>
#include <string_view>
#include <unordered_map>

namespace plughost {

SharedIds shared_ids(std::span<const ListedIds> lists) {
  SharedIds shared;
  if (lists.size() < 2) return shared;
  std::unordered_map<std::string_view, const ListedIds*> owners;
  std::set<std::string_view> ids;
  for (const ListedIds& list : lists) {
    for (const Device& device : list.offer->inventory.devices()) {
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
