#include "host/hardware/udev_monitor.hpp"

#include <libudev.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace plughost {
namespace {

constexpr const char* kUdevDirectory = "/run/udev";
constexpr const char* kUdevSocket = "control";
// Room for some thousand events between two turns of the loop. More events overflow, which costs a rescan.
constexpr int kReceiveBuffer = 4 << 20;
// The number of datagrams that are read in one turn.
constexpr int kMostAtOnce = 256;

}  // namespace

UdevWatch::~UdevWatch() {
  watch_.reset();
  if (watches_.empty()) monitor_.adjust();
}

UdevMonitor::UdevMonitor(EventLoop& loop, DirWatcher& directories, const HostRoot& host,
                         std::function<void(std::string)> error)
    : loop_(loop),
      host_(host),
      error_(std::move(error)),
      context_(::udev_new(), &::udev_unref),
      monitor_(nullptr, &::udev_monitor_unref) {
  if (!context_) throw std::system_error(errno, std::generic_category(), "udev_new");
  udevd_ = directories.watch(host.at(kUdevDirectory), kUdevSocket, [this](std::string_view) { on_udevd(); });
}

UdevMonitor::~UdevMonitor() { close(); }

std::unique_ptr<UdevWatch> UdevMonitor::watch(std::string subsystem, std::function<void()> callback) {
  Subscribers& watches = watches_[std::move(subsystem)];
  const bool known = !watches.empty();
  std::unique_ptr<UdevWatch> watch(new UdevWatch(*this, watches, std::move(callback)));
  if (!known) adjust();
  return watch;
}

UdevMonitor::Group UdevMonitor::group_to_use() const {
  std::error_code failed;
  return std::filesystem::exists(host_.at(kUdevDirectory) / kUdevSocket, failed) ? Group::kUdev
                                                                                 : Group::kKernel;
}

void UdevMonitor::adjust() {
  const auto wanted = [](const auto& item) { return !item.second.empty(); };
  if (std::ranges::none_of(watches_, wanted)) return close();
  if (!monitor_ && !open(group_to_use())) return;
  ::udev_monitor_filter_remove(monitor_.get());
  for (const auto& item : watches_) {
    if (wanted(item))
      ::udev_monitor_filter_add_match_subsystem_devtype(monitor_.get(), item.first.c_str(), nullptr);
  }
  if (::udev_monitor_filter_update(monitor_.get()) < 0)
    error_("the udev monitor takes no filter: every event of the machine will wake this process");
}

bool UdevMonitor::open(Group group) {
  const auto failed = [&](const char* what) {
    error_(std::string("device events cannot be received (") + what + ": " +
           std::generic_category().message(errno) + "): changes are seen by the slow rescan only");
    close();
    return false;
  };
  monitor_.reset(::udev_monitor_new_from_netlink(context_.get(), group == Group::kUdev ? "udev" : "kernel"));
  if (!monitor_) return failed("udev_monitor_new_from_netlink");
  group_ = group;
  // Fails without privileges; the default size is used then.
  (void)::udev_monitor_set_receive_buffer_size(monitor_.get(), kReceiveBuffer);
  if (::udev_monitor_enable_receiving(monitor_.get()) < 0) return failed("udev_monitor_enable_receiving");
  try {
    io_ = std::make_unique<IoWatch>(loop_, ::udev_monitor_get_fd(monitor_.get()), EPOLLIN,
                                    [this](std::uint32_t) { on_readable(); });
  } catch (const std::system_error& exception) {
    errno = exception.code().value();
    return failed("epoll_ctl");
  }
  return true;
}

void UdevMonitor::close() {
  io_.reset();
  monitor_.reset();
}

void UdevMonitor::on_udevd() {
  if (!monitor_ || group_to_use() == group_) return;
  close();
  adjust();
  notify(nullptr);
}

void UdevMonitor::on_readable() {
  std::set<std::string> subsystems;
  for (int i = 0; i < kMostAtOnce; ++i) {
    errno = 0;
    const std::unique_ptr<udev_device, udev_device* (*)(udev_device*)> device(
        ::udev_monitor_receive_device(monitor_.get()), &::udev_device_unref);
    if (!device) {
      if (errno == EAGAIN || errno == EINTR) break;  // no message, or one from an untrusted sender
      ++overflows_;
      return notify(nullptr);
    }
    ++events_;
    subsystems.emplace(::udev_device_get_subsystem(device.get()));
  }
  if (!subsystems.empty()) notify(&subsystems);
}

void UdevMonitor::notify(const std::set<std::string>* subsystems) {
  for (const auto& [subsystem, watches] : watches_) {
    if (!subsystems || subsystems->contains(subsystem)) watches.notify();
  }
}

}  // namespace plughost
