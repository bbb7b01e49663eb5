// Any bytes as a datagram of the kernel or of udevd: a word that stands in them, or nothing.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "host/uevent.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view datagram(reinterpret_cast<const char*>(data), size);
  const auto subsystem = plughost::uevent_subsystem(datagram);
  if (!subsystem) return 0;
  const std::less_equal<const char*> within;
  if (!within(datagram.data(), subsystem->data()) ||
      !within(subsystem->data() + subsystem->size(), datagram.data() + datagram.size()) ||
      subsystem->find('\0') != std::string_view::npos)
    std::abort();
  return 0;
}
