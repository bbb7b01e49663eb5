#pragma once
// Decides which containers hold which devices, from the kubelet's two sources. Pure functions of values,
// thread-safe.
//
// The kubelet has two records, and neither is complete. `List` of its pod resources names pods, but leaves
// out ordinary init containers (KEP-606), and can be empty for the first seconds of a kubelet. The checkpoint
// has every container, but keeps a pod that has ended until the kubelet's next Allocate. So a container holds
// what `List` says; and it holds what the checkpoint says for as long as the kubelet keeps a directory for
// its pod. Either source alone was wrong: by `List`, the device of a running init container was given to
// another pod 8 s after its Allocate; by the checkpoint, the device of a pod that had ended stayed reserved
// until the kubelet's next Allocate, however late.

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kubelet/checkpoint.hpp"
#include "kubelet/holdings.hpp"

namespace plughost {

struct KnownHolders {
  std::shared_ptr<const Holdings> holdings;  // nullptr: neither source could be read
  bool complete = false;  // true: a device that is not in `holdings` is held by no container
};

// listed: the answer of `List`; nullptr: it could not be read. settled: the kubelet that answered has been
// running for long enough to know its pods. reading: a reading of the checkpoint that began after `List` was
// asked. Where the directory of the pods cannot be read, every pod of the checkpoint counts. An id that
// `List` has keeps the holder that `List` gives. Takes time in proportion to the ids of both; not for the
// loop.
KnownHolders known_holders(std::shared_ptr<const Holdings> listed, bool settled,
                           const CheckpointReader::Reading& reading);

}  // namespace plughost
