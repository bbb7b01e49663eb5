#include "host/udev_monitor.hpp"

#include <libudev.h>
#include <linux/netlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "host/uevent.hpp"

namespace plughost {

namespace {

constexpr const char* kUdevDirectory = "/run/udev";
constexpr const char* kUdevSocket = "control";
// Room for some thousand events between two turns of the loop; more is an overflow, and costs a rescan.
constexpr int kReceiveBuffer = 4 << 20;
// Datagrams that are read before the loop sees to others.
constexpr int kMostAtOnce = 256;

// More than udevd sends of a device.
constexpr std::size_t kLongest = 16384;

struct Received {
  enum class What { kNothing, kLost, kDatagram } what = What::kNothing;
  UeventSender sender;
  std::size_t size = 0;
};

UeventSender sender_of(msghdr& message, const sockaddr_nl& address) {
  UeventSender sender{.group = address.nl_groups, .port = address.nl_pid, .user = {}};
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS ||
        part->cmsg_len != CMSG_LEN(sizeof(ucred)))
      continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
    sender.user = credentials.uid;
  }
  return sender;
}

// Not by libudev, which takes a message at its word: an offset beyond its end is the end of the process.
Received receive(int socket, std::array<char, kLongest>& buffer) {
  using enum Received::What;
  iovec data{.iov_base = buffer.data(), .iov_len = buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
  sockaddr_nl address{};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = sizeof address;
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT);
  if (size < 0) return {.what = errno == ENOBUFS ? kLost : kNothing, .sender = {}};
  const UeventSender sender = sender_of(message, address);
  // Of what is cut off nobody knows what it says.
  if ((message.msg_flags & MSG_TRUNC) != 0 && is_trusted(sender)) return {.what = kLost, .sender = {}};
  return {.what = kDatagram, .sender = sender, .size = static_cast<std::size_t>(size)};
}

}  // namespace

UdevWatch::~UdevWatch() {
  auto& watches = monitor_.watches_;
  const auto [first, last] = watches.equal_range(subsystem_);
  watches.erase(std::find_if(first, last, [this](const auto& item) { return item.second == this; }));
  if (!monitor_.wants(subsystem_)) monitor_.adjust();
}

void UdevMonitor::FreeContext::operator()(udev* context) const {
  ::udev_unref(context);
}

void UdevMonitor::FreeMonitor::operator()(udev_monitor* monitor) const {
  ::udev_monitor_unref(monitor);
}

UdevMonitor::UdevMonitor(EventLoop& loop, DirWatcher& directories, const HostRoot& host,
                         std::function<void(std::string)> trouble)
    : loop_(loop), host_(host), trouble_(std::move(trouble)), context_(::udev_new()) {
  if (!context_) throw std::system_error(errno, std::generic_category(), "udev_new");
  udevd_ = directories.watch(host.at(kUdevDirectory), kUdevSocket, [this](std::string_view) { on_udevd(); });
}

UdevMonitor::~UdevMonitor() {
  close();
}

std::unique_ptr<UdevWatch> UdevMonitor::watch(std::string subsystem, std::function<void()> callback) {
  const bool known = wants(subsystem);
  std::unique_ptr<UdevWatch> watch(new UdevWatch(*this, std::move(subsystem), std::move(callback)));
  watches_.emplace(watch->subsystem_, watch.get());
  if (!known) adjust();
  return watch;
}

UdevMonitor::Group UdevMonitor::group_to_use() const {
  std::error_code failed;
  return std::filesystem::exists(host_.at(kUdevDirectory) / kUdevSocket, failed) ? Group::kUdev
                                                                                 : Group::kKernel;
}

bool UdevMonitor::wants(const std::string& subsystem) const {
  return watches_.contains(subsystem);
}

void UdevMonitor::adjust() {
  if (watches_.empty()) return close();
  if (!monitor_ && !open(group_to_use())) return;
  ::udev_monitor_filter_remove(monitor_.get());
  for (auto item = watches_.begin(); item != watches_.end(); item = watches_.upper_bound(item->first))
    ::udev_monitor_filter_add_match_subsystem_devtype(monitor_.get(), item->first.c_str(), nullptr);
  if (::udev_monitor_filter_update(monitor_.get()) < 0)
    trouble_("the udev monitor takes no filter: every event of the machine will wake this process");
}

bool UdevMonitor::open(Group group) {
  const auto failed = [&](const char* what) {
    trouble_(std::string("device events cannot be heard (") + what + ": " +
             std::generic_category().message(errno) + "): changes are seen by the slow rescan only");
    close();
    return false;
  };
  monitor_.reset(::udev_monitor_new_from_netlink(context_.get(), group == Group::kUdev ? "udev" : "kernel"));
  if (!monitor_) return failed("udev_monitor_new_from_netlink");
  group_ = group;
  // Refused without privileges; the default size does then.
  (void)::udev_monitor_set_receive_buffer_size(monitor_.get(), kReceiveBuffer);
  if (::udev_monitor_enable_receiving(monitor_.get()) < 0) return failed("udev_monitor_enable_receiving");
  try {
    io_ = std::make_unique<IoWatch>(loop_, ::udev_monitor_get_fd(monitor_.get()), EPOLLIN,
                                    [this](std::uint32_t) { on_readable(); });
  } catch (const std::system_error& error) {
    errno = error.code().value();
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
  tell(nullptr);
}

void UdevMonitor::on_readable() {
  std::set<std::string> subsystems;
  std::array<char, kLongest> buffer;
  for (int i = 0; i < kMostAtOnce; ++i) {
    const Received received = receive(::udev_monitor_get_fd(monitor_.get()), buffer);
    if (received.what == Received::What::kNothing) break;
    if (received.what == Received::What::kLost) {
      ++overflows_;
      return tell(nullptr);
    }
    if (!is_trusted(received.sender)) continue;
    const auto subsystem = uevent_subsystem(std::string_view(buffer.data(), received.size));
    // The kernel's events are not filtered on their way.
    if (!subsystem || !wants(std::string(*subsystem))) continue;
    ++events_;
    subsystems.emplace(*subsystem);
  }
  if (!subsystems.empty()) tell(&subsystems);
}

void UdevMonitor::tell(const std::set<std::string>* subsystems) {
  std::vector<UdevWatch*> told;
  for (const auto& [subsystem, watch] : watches_) {
    if (!subsystems || subsystems->contains(subsystem)) told.push_back(watch);
  }
  for (UdevWatch* watch : told) {
    // A callback may have ended watches.
    const bool lives = std::ranges::any_of(watches_, [&](const auto& item) { return item.second == watch; });
    if (lives) watch->callback_();
  }
}

}  // namespace plughost
