#include "host/uevent.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace plughost {

namespace {

constexpr std::string_view kPrefix("libudev\0", 8);
constexpr std::uint32_t kMagic = 0xfeedcafe;
constexpr std::string_view kSubsystem = "SUBSYSTEM=";

// systemd, src/libsystemd/sd-device/device-monitor.c: monitor_netlink_header, as far as it concerns us.
struct Header {
  char prefix[8];
  std::uint32_t magic;  // in the network's byte order; the rest is the host's
  std::uint32_t header_size;
  std::uint32_t properties_offset;
  std::uint32_t properties_size;
};
static_assert(sizeof(Header) == 24);

// Strings with a null after each.
std::optional<std::string_view> udev_properties(std::string_view datagram) {
  Header header{};
  if (datagram.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, datagram.data(), sizeof header);
  const std::size_t offset = header.properties_offset;
  if (ntohl(header.magic) != kMagic || offset < sizeof header || offset > datagram.size() ||
      header.properties_size > datagram.size() - offset)
    return std::nullopt;
  return datagram.substr(offset, header.properties_size);
}

// After "ACTION@DEVPATH".
std::optional<std::string_view> kernel_properties(std::string_view datagram) {
  const std::size_t end = datagram.find('\0');
  if (end == std::string_view::npos || datagram.substr(0, end).find("@/") == std::string_view::npos)
    return std::nullopt;
  return datagram.substr(end + 1);
}

}  // namespace

bool is_trusted(const UeventSender& sender) {
  if (sender.user != uid_t{0}) return false;
  return sender.group == kUdevGroup || (sender.group == kKernelGroup && sender.port == 0);
}

std::optional<std::string_view> uevent_subsystem(std::string_view datagram) {
  const auto properties =
      datagram.starts_with(kPrefix) ? udev_properties(datagram) : kernel_properties(datagram);
  if (!properties) return std::nullopt;
  for (std::string_view rest = *properties; !rest.empty();) {
    const std::string_view property = rest.substr(0, rest.find('\0'));
    if (property.starts_with(kSubsystem)) return property.substr(kSubsystem.size());
    rest.remove_prefix(std::min(property.size() + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace plughost
