#include "host/uevent.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace plughost;
using namespace std::string_literals;

namespace {

// As udevd sends it.
std::string udev_message(const std::string& properties, std::uint32_t offset = 40,
                         std::uint32_t size = 0xffffffff, std::uint32_t magic = 0xfeedcafe) {
  std::string message(40, '\0');
  const std::uint32_t words[] = {htonl(magic), 40, offset,
                                 size == 0xffffffff ? static_cast<std::uint32_t>(properties.size()) : size};
  std::memcpy(message.data(), "libudev", 7);
  std::memcpy(message.data() + 8, words, sizeof words);
  return message + properties;
}

const std::string kProperties = "ACTION=add\0SUBSYSTEM=tty\0DEVNAME=ttyUSB0\0"s;

}  // namespace

TEST_CASE("the kernel's message names the subsystem after its first line") {
  CHECK(uevent_subsystem("add@/devices/x\0ACTION=add\0SUBSYSTEM=tty\0SEQNUM=1\0"s) == "tty");
  CHECK(uevent_subsystem("add@/devices/x\0SUBSYSTEM=tty"s) == "tty");
  CHECK(uevent_subsystem("add@/x\0SUBSYSTEM=\0"s) == "");
}

TEST_CASE("what is not well-formed names none") {
  CHECK_FALSE(uevent_subsystem(""));
  CHECK_FALSE(uevent_subsystem("\0"s));
  CHECK_FALSE(uevent_subsystem("add@/devices/x"));
  CHECK_FALSE(uevent_subsystem("add@/devices/x\0"s));
  CHECK_FALSE(uevent_subsystem("add@/devices/x\0ACTION=add\0"s));
  CHECK_FALSE(uevent_subsystem("add\0SUBSYSTEM=tty\0"s));
  CHECK_FALSE(uevent_subsystem("add\0@/\0SUBSYSTEM=tty\0"s));
  CHECK_FALSE(uevent_subsystem("add@/x\0MY_SUBSYSTEM=tty\0"s));
  CHECK_FALSE(uevent_subsystem("add@/x\0SUBSYSTEM\0"s));
  CHECK_FALSE(uevent_subsystem("SUBSYSTEM=tty\0"s));
}

TEST_CASE("udevd's message names the subsystem among its properties") {
  CHECK(uevent_subsystem(udev_message(kProperties)) == "tty");
  CHECK(uevent_subsystem(udev_message("SUBSYSTEM=tty")) == "tty");
  // A later udevd may have a longer header.
  CHECK(uevent_subsystem(udev_message("12345678" + kProperties, 48,
                                      static_cast<std::uint32_t>(kProperties.size()))) == "tty");
  CHECK(uevent_subsystem(udev_message("SUBSYSTEM=tty\0rest"s, 40, 14)) == "tty");
}

TEST_CASE("an offset or a size that leads out of udevd's message is refused, and its edge is not") {
  const std::string message = udev_message(kProperties);
  const auto size = static_cast<std::uint32_t>(kProperties.size());
  CHECK_FALSE(uevent_subsystem(udev_message("", 0xffffffff)));
  CHECK_FALSE(uevent_subsystem(udev_message("", 0xffffffe0)));  // and 32 is 0
  CHECK_FALSE(uevent_subsystem(udev_message(kProperties, 40, size + 1)));
  CHECK_FALSE(uevent_subsystem(udev_message(kProperties, 41, size)));
  CHECK_FALSE(uevent_subsystem(udev_message(kProperties, 40, 0xfffffff0)));
  CHECK_FALSE(uevent_subsystem(udev_message("", 40, 0)));
  CHECK_FALSE(uevent_subsystem(udev_message("", 41, 0)));
  CHECK_FALSE(uevent_subsystem(udev_message("SUBSYSTEM=tty", 23, 30)));
  CHECK(uevent_subsystem(udev_message(kProperties, 24, size + 16)) == "tty");
  CHECK_FALSE(uevent_subsystem(udev_message(kProperties, 40, size, 0xfeedcaff)));
  for (std::size_t length = 0; length < 40; ++length) {
    CAPTURE(length);
    CHECK_FALSE(uevent_subsystem(std::string_view(message).substr(0, length)));
  }
}

TEST_CASE("in the kernel's group the kernel is believed, and in udev's root") {
  CHECK(is_trusted({.group = kKernelGroup, .port = 0, .user = 0}));
  CHECK(is_trusted({.group = kUdevGroup, .port = 1234, .user = 0}));
  CHECK_FALSE(is_trusted({.group = kKernelGroup, .port = 1234, .user = 0}));
  CHECK_FALSE(is_trusted({.group = kKernelGroup, .port = 0, .user = 1000}));
  CHECK_FALSE(is_trusted({.group = kUdevGroup, .port = 1234, .user = 1000}));
  CHECK_FALSE(is_trusted({.group = kUdevGroup, .port = 1234, .user = {}}));
  CHECK_FALSE(is_trusted({.group = 0, .port = 0, .user = 0}));
  CHECK_FALSE(is_trusted({.group = 3, .port = 0, .user = 0}));
}
