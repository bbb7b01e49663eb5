#pragma once
// A systemd unit according to its files, drop-ins included. Thread-safe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

// The assignments of each key, in any section. An empty assignment removes the previous assignments.
class UnitSettings {
 public:
  void read(std::string_view text);

  const std::vector<std::string>& values(const std::string& key) const;
  // Returns true if the key is assigned, even if only to nothing.
  bool assigns(const std::string& key) const { return values_.contains(key); }
  // Returns the words of all assignments, without quotes, for a key whose value is a list.
  std::set<std::string> words(const std::string& key) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct UnitFile {
  std::string path;  // of the unit itself
  bool masked = false;
  bool enabled = false;  // another unit wants or requires it by a link
  UnitSettings settings;
  std::string text;  // of the unit and its drop-ins
};

// Returns nullopt if there is no such unit. Specifiers and generated units are ignored. The files in
// `but_for` count as missing.
std::optional<UnitFile> unit_file(const HostRoot& host, std::string_view name,
                                  const std::set<std::string>& but_for = {});

}  // namespace plughost
