#pragma once
// Which of the devices that its kind finds an entry takes. A plain value.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// Does the text match the fnmatch(3) pattern, all of it? '*' matches '/' and a leading '.', too.
bool matches(const std::string& pattern, const std::string& text);

// Of attributes, each with patterns of which one has to match; a device has to match all of them. One that
// has no such attribute does not match.
struct DevicePattern {
  std::map<std::string, std::vector<std::string>> attributes;
  std::string where;  // "only[0]", for messages

  bool matches(const Device& device) const;
  bool operator==(const DevicePattern&) const = default;
};

struct Choice {
  std::vector<DevicePattern> only;    // one has to match; none: every device does
  std::vector<DevicePattern> except;  // none may match

  bool all() const { return only.empty() && except.empty(); }
  bool operator==(const Choice&) const = default;
};

// Takes out of the devices what is not chosen. Patterns that match none of them are remarked on.
void choose(const Choice& choice, std::vector<Device>& devices, std::vector<std::string>& remarks);

}  // namespace plughost
