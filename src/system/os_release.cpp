#include "system/os_release.hpp"

#include <sstream>
#include <string_view>

namespace plughost {
namespace {

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return std::string(value);
}

}  // namespace

OsRelease os_release(const HostRoot& host) {
  auto text = host.text("/etc/os-release");
  if (!text) text = host.text("/usr/lib/os-release");
  OsRelease os;
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = unquoted(std::string_view(line).substr(equals + 1));
    if (key == "ID") os.id = value;
    if (key == "PRETTY_NAME") os.name = value;
    // Since OpenShift 4.19 its CoreOS calls itself rhel, as a machine that somebody has installed does.
    if (key == "OPENSHIFT_VERSION") os.openshift = true;
  }
  if (os.id == "rhcos" || os.id == "scos") os.openshift = true;
  if (os.name.empty()) os.name = os.id;
  return os;
}

}  // namespace plughost
