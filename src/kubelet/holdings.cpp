#include "kubelet/holdings.hpp"

#include <algorithm>

namespace plughost {

void note_holder(HoldersOfIds& holders, const std::string& id, const Holder& holder) {
  const auto [first, last] = holders.equal_range(id);
  const auto same = std::find_if(first, last, [&](const auto& item) {
    return item.second.pod_namespace == holder.pod_namespace && item.second.pod == holder.pod;
  });
  if (same == last)
    holders.emplace(id, holder);
  else
    same->second = holder;
}

}  // namespace plughost
