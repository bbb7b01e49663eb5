#include "base/system/mounts.hpp"

#include <fcntl.h>
#include <mntent.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost {
namespace {

// File systems that the kernel serves by itself, from memory or a disk. Only workers access any other file
// system.
constexpr auto kLocal = std::to_array<std::string_view>({
    "bcachefs", "binfmt_misc", "bpf",        "btrfs",     "cgroup",   "cgroup2",   "configfs",
    "debugfs",  "devpts",      "devtmpfs",   "efivarfs",  "erofs",    "exfat",     "ext2",
    "ext3",     "ext4",        "f2fs",       "fusectl",   "hfsplus",  "hugetlbfs", "iso9660",
    "jfs",      "mqueue",      "nsfs",       "ntfs3",     "overlay",  "proc",      "pstore",
    "ramfs",    "rootfs",      "securityfs", "selinuxfs", "squashfs", "sysfs",     "tmpfs",
    "tracefs",  "ubifs",       "udf",        "vfat",      "xfs",      "zfs",
});

}  // namespace

std::set<std::string> remote_mounts(const std::string& table) {
  std::set<std::string> remote;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::setmntent(table.c_str(), "re"), ::endmntent);
  if (!file) return remote;
  std::vector<char> line(1 << 15);  // the names come first, so truncated options do no harm
  mntent entry{};
  while (::getmntent_r(file.get(), &entry, line.data(), static_cast<int>(line.size())) != nullptr) {
    if (std::ranges::find(kLocal, entry.mnt_type) == kLocal.end()) remote.insert(entry.mnt_dir);
  }
  remote.erase("/");
  return remote;
}

// Each change of the mount table is an EPOLLPRI event of this file (proc(5)).
MountWatch::MountWatch(EventLoop& loop, std::function<void()> callback)
    : mounts_(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)),
      timer_(loop, [this, callback = std::move(callback)] {
        told_ = EventLoop::Clock::now();
        callback();
      }) {
  if (mounts_)
    io_ = std::make_unique<IoWatch>(loop, mounts_.get(), EPOLLPRI, [this](std::uint32_t) {
      remote_is_old_ = true;
      if (!timer_.armed()) timer_.arm_at(std::max(EventLoop::Clock::now(), told_ + kPause));
    });
}

bool MountWatch::is_remote(const std::string& path) {
  if (std::exchange(remote_is_old_, false)) remote_ = remote_mounts();
  return remote_.contains(path);
}

}  // namespace plughost
