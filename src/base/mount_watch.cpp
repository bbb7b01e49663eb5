#include "base/mount_watch.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <utility>

namespace plughost {

// proc(5): the file is 'exceptional' after a change, until somebody polls it.
MountWatch::MountWatch(EventLoop& loop, std::function<void()> callback)
    : mounts_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {
  if (!mounts_) return;
  io_ = std::make_unique<IoWatch>(loop, mounts_.get(), EPOLLPRI,
                                  [callback = std::move(callback)](std::uint32_t) { callback(); });
}

}  // namespace plughost
