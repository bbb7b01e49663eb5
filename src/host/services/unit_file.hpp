#pragma once
// A systemd unit as its files say, drop-ins included. Thread-safe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

// What is assigned to each key, in whichever section. An empty assignment forgets what was before it.
class UnitSettings {
 public:
  void read(std::string_view text);

  const std::vector<std::string>& values(const std::string& key) const;
  // Somebody has said something, if only that there is nothing.
  bool assigns(const std::string& key) const { return values_.contains(key); }
  // Of a key whose value is a list: the words of all assignments, without quotes.
  std::set<std::string> words(const std::string& key) const;

 private:
  std::map<std::string, std::vector<std::string>> values_;
};

struct UnitFile {
  std::string path;  // of the unit itself
  bool masked = false;
  bool enabled = false;  // another unit wants or requires it, by a link
  UnitSettings settings;
  std::string text;  // of the unit and its drop-ins
};

// nullopt: there is none. Specifiers and units that a generator makes are not followed. but_for: files that
// are taken not to be there.
std::optional<UnitFile> unit_file(const HostRoot& host, std::string_view name,
                                  const std::set<std::string>& but_for = {});

}  // namespace plughost
