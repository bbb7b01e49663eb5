#pragma once
// What is laid over the list of devices that are there: it needs no look at the machine, so that a driver
// that hangs keeps nobody from taking a device out of service.

#include <string>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// Adds reasons to devices, and nothing else; the same ones until whoever has it says that it is another.
class Overlay {
 public:
  Overlay() = default;
  virtual ~Overlay() = default;

  // Does it say anything of the resource's devices?
  virtual bool touches(const std::string& resource) const = 0;
  virtual void lay(const std::string& resource, std::vector<Device>& devices) const = 0;

  bool operator==(const Overlay&) const = default;

 protected:
  Overlay(const Overlay&) = default;
  Overlay(Overlay&&) = default;
  Overlay& operator=(const Overlay&) = default;
  Overlay& operator=(Overlay&&) = default;
};

// In the order in which they are laid, and told of. They outlive whoever has the list.
using Overlays = std::vector<const Overlay*>;

}  // namespace plughost
