#pragma once
// A systemd unit as its files say, drop-ins included. Thread-safe.

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/host_root.hpp"

namespace plughost {

struct UnitFile {
  std::string path;  // of the unit itself
  bool masked = false;
  bool enabled = false;          // another unit wants or requires it, by a link
  std::set<std::string> before;  // what it starts before
};

// nullopt: there is none. Specifiers and units that a generator makes are not followed.
std::optional<UnitFile> unit_file(const HostRoot& host, std::string_view name);

}  // namespace plughost
