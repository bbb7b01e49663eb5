#pragma once
// Datagrams of NETLINK_KOBJECT_UEVENT: the kernel's, and udevd's, which come after its rules. Pure functions,
// thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace plughost {

// As the socket tells it.
struct UeventSender {
  std::uint32_t group = 0;    // what it was sent to; 0: to this socket alone
  std::uint32_t port = 0;     // 0: the kernel
  std::optional<uid_t> user;  // nullopt: the socket did not tell
};

constexpr std::uint32_t kKernelGroup = 1;
constexpr std::uint32_t kUdevGroup = 2;

// Other processes send to these groups, too, if they may: in the kernel's nobody else is believed, in udev's
// only root.
bool is_trusted(const UeventSender& sender);

// What is said of the device, as a view into the datagram, which may be any bytes. nullopt: it is no such
// message, or names no subsystem.
std::optional<std::string_view> uevent_subsystem(std::string_view datagram);

}  // namespace plughost
