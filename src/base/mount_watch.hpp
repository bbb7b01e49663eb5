#pragma once
// Tells when something is mounted or unmounted where this process can see it. Loop thread only.

#include <functional>
#include <memory>

#include "base/event_loop.hpp"

namespace plughost {

class MountWatch {
 public:
  // Calls back for each change, or once for several. Where there is no /proc nothing is told. The loop
  // outlives it.
  MountWatch(EventLoop& loop, std::function<void()> callback);

 private:
  UniqueFd mounts_;
  std::unique_ptr<IoWatch> io_;
};

}  // namespace plughost
