#include "host/hardware/machine_facts.hpp"

#include <sys/utsname.h>

#include <string_view>

#include "base/text/words.hpp"

namespace plughost {
namespace {

// Returns the first line, which ends with a null character in a device tree.
std::string line_of(const HostRoot& host, const char* path) {
  std::string text = host.text(path).value_or("");
  if (const std::size_t end = text.find_first_of(std::string_view("\n\0", 2)); end != std::string::npos)
    text.resize(end);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

MachineFacts machine_facts(const HostRoot& host) {
  MachineFacts machine{.hostname = line_of(host, "/proc/sys/kernel/hostname"),
                       .kernel = line_of(host, "/proc/sys/kernel/osrelease"),
                       .arch = line_of(host, "/proc/sys/kernel/arch"),  // since Linux 6.1
                       .vendor = line_of(host, "/sys/class/dmi/id/sys_vendor"),
                       .product = line_of(host, "/sys/class/dmi/id/product_name")};
  utsname names{};
  if (machine.arch.empty() && !host.recorded() && ::uname(&names) == 0) machine.arch = names.machine;
  if (machine.product.empty()) machine.product = line_of(host, "/proc/device-tree/model");
  return machine;
}

std::string kubernetes_arch(const std::string& arch) {
  static constexpr Word<std::string_view> kWords[] = {
      {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"armv7l", "arm"}, {"armv6l", "arm"}, {"i686", "386"}};
  return std::string(value_of(kWords, arch).value_or(arch));
}

}  // namespace plughost
