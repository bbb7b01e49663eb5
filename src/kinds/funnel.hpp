#pragma once
// Counts what a scan looked at and what each rule left out, because "no devices" must say why, and only the
// scan knows. Values; thread-safe.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

// The candidates of one selector of an entry.
struct Funnel {
  struct Rule {
    std::string text;  // what is true of the candidates that it left out: "its vendor is not 10c4"
    std::size_t count = 0;
  };

  std::string selector;    // its key in the entry: "groups[0].usb[0]"
  std::string candidates;  // a noun for one of them, in the form of counted(): "USB device"
  std::size_t seen = 0;
  std::vector<Rule> left_out;  // in the order in which the rules first left something out
  std::string nothing{};       // why nothing matches, for a selector that knows better than its rules
  bool optional = false;       // the entry can have devices without a match

  // Counts one candidate and the rule that leaves it out. Returns true if the rule is empty: it is left in.
  bool pass(std::string_view rule);
  std::size_t matched() const;
  // Returns why nothing matches, as a sentence; empty if something matches.
  std::string why_empty() const;
  // Returns "42 USB devices", "41 left out: its vendor is not 10c4", "1 matches".
  std::vector<std::string> lines() const;
};

// Returns why an entry without devices has none, as a sentence.
std::string why_no_devices(const std::vector<Funnel>& funnels);

// Returns "no such path /dev/fuze (did you mean /dev/fuse?)", or names the first directory that is missing.
// Only the machine itself is searched for similar names; a recorded one would have to record them all.
std::string no_such_path(const HostRoot& host, const std::string& path, std::string_view noun = "path");
// Returns "no subsystem vide04linux (did you mean video4linux?)", or that it has no devices.
std::string no_such_subsystem(const HostRoot& host, const std::string& subsystem);

}  // namespace plughost
