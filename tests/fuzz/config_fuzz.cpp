// Parses arbitrary bytes as a configuration: load_config must return a configuration or throw ConfigError.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/system/unique_fd.hpp"
#include "config/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plughost;
  const UniqueFd file(check(::memfd_create("config", MFD_CLOEXEC), "memfd_create"));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  try {
    load_config("/proc/self/fd/" + std::to_string(file.get()));
  } catch (const ConfigError&) {
    // Most inputs are invalid.
  }
  return 0;
}
