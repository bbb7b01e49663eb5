#include "kubelet/known_holders.hpp"

#include <utility>

namespace plughost {
namespace {

// The holders that only the checkpoint has. A multimap of ids is copied only if there are any.
Holdings unlisted_holders(const Holdings& listed, const CheckpointReader::Reading& reading) {
  Holdings unlisted;
  for (const Checkpoint::PodDevices& some : reading.checkpoint->pod_devices) {
    if (reading.pods && !reading.pods->contains(some.pod_uid)) continue;
    const auto of_resource = listed.find(some.resource);
    for (const auto& [node, ids] : some.ids) {
      for (const std::string& id : ids) {
        if (of_resource != listed.end() && of_resource->second.contains(id)) continue;
        note_holder(unlisted[some.resource], id,
                    {.pod_namespace = {}, .pod = some.pod_uid, .container = some.container});
      }
    }
  }
  return unlisted;
}

}  // namespace

KnownHolders known_holders(std::shared_ptr<const Holdings> listed, bool settled,
                           const CheckpointReader::Reading& reading) {
  // A file that does not exist is an empty checkpoint with a reason: it adds nothing to `List`, and does not
  // replace it.
  if (!reading.checkpoint || (!listed && !reading.why.empty()))
    return {.holdings = std::move(listed), .complete = false};
  static const Holdings kNothing;
  Holdings unlisted = unlisted_holders(listed ? *listed : kNothing, reading);
  const bool complete = !listed || settled;
  if (unlisted.empty() && listed) return {.holdings = std::move(listed), .complete = complete};
  if (listed) {
    for (const auto& [resource, holders] : *listed) unlisted[resource].insert(holders.begin(), holders.end());
  }
  return {.holdings = std::make_shared<const Holdings>(std::move(unlisted)), .complete = complete};
}

}  // namespace plughost
