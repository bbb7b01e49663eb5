#include "kubelet/grpc_locks.hpp"

#include <absl/synchronization/mutex.h>

namespace plughost {

void lock_without_graph() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace plughost
