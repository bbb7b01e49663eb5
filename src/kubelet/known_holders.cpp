#include "kubelet/known_holders.hpp"

#include <utility>

namespace plughost {
namespace {

// Collects the holders that only the checkpoint has.
HoldingsBuilder unlisted_holders(const Holdings& listed, const CheckpointReader::Reading& reading) {
  HoldingsBuilder unlisted;
  for (const Checkpoint::PodDevices& some : reading.checkpoint->pod_devices) {
    if (reading.pods && !reading.pods->contains(some.pod_uid)) continue;
    const auto of_resource = listed.find(some.resource);
    const auto holder = some.holder();
    for (const auto& [node, ids] : some.ids) {
      for (const std::string& id : ids) {
        if (of_resource != listed.end() && of_resource->second.contains(id)) continue;
        unlisted.add(some.resource, id, holder);
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
  HoldingsBuilder holders = unlisted_holders(listed ? *listed : kNothing, reading);
  const bool complete = !listed || settled;
  if (holders.empty() && listed) return {.holdings = std::move(listed), .complete = complete};
  if (listed) {
    for (const auto& [resource, held] : *listed) {
      for (const auto& [id, holder] : held) holders.add(resource, id, holder);
    }
  }
  return {.holdings = std::make_shared<const Holdings>(std::move(holders).build()), .complete = complete};
}

}  // namespace plughost
