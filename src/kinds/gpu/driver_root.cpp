#include "kinds/gpu/driver_root.hpp"

#include <filesystem>

namespace plughost {
namespace {

// Where distributions have libraries.
constexpr const char* kDirectories[] = {
    "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
    "/lib64",     "/lib/x86_64-linux-gnu",     "/lib/aarch64-linux-gnu"};

}  // namespace

std::string library_below(const HostRoot& host, const std::string& root, const std::string& library) {
  const std::string name = std::filesystem::path(library).filename();
  for (const char* const directory : kDirectories) {
    const std::string path = root + directory + '/' + name;
    if (host.exists(path)) return host.at(path).string();
  }
  return {};
}

std::string node_below(const HostRoot& host, const std::string& root, const std::string& node) {
  return !root.empty() && host.exists(root + node) ? root + node : node;
}

}  // namespace plughost
