#pragma once
// Which of the devices that its kind finds an entry takes, and by what it tells them apart. Plain values.

#include <map>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// Of attributes, "id" among them, each with patterns of which one has to match; a device has to match all of
// the attributes. A pattern matches a value that it is, and what fnmatch(3) says; nothing matches the value
// that a device does not have, or that is empty.
struct DevicePattern {
  std::map<std::string, std::vector<std::string>> attributes;
  std::string where;  // "only[0]", for messages

  bool matches(const Device& device) const;
  bool operator==(const DevicePattern&) const = default;
};

struct Choice {
  std::vector<DevicePattern> only;    // one has to match; none: every device does
  std::vector<DevicePattern> except;  // none may match

  bool operator==(const Choice&) const = default;
};

// A number of replicas for the devices that match one of the patterns.
struct ReplicaRule {
  std::vector<DevicePattern> devices;
  unsigned replicas = 1;
  std::string where;  // "replicas.*T4*"

  bool matches(const Device& device) const;
  bool operator==(const ReplicaRule&) const = default;
};

// Takes out of the devices what is not chosen, and returns where the patterns stand that match none of them.
std::vector<std::string> choose(const Choice& choice, std::vector<Device>& devices);

}  // namespace plughost
