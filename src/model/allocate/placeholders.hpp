#pragma once
// What the placeholders of an entry's templates stand for in one allocation. Not thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/allocate/allocation.hpp"

namespace plughost {

// The first problem is kept, and what is expanded after it does not matter.
class Placeholders {
 public:
  using Text = std::optional<std::string>;  // valid UTF-8; nullopt: error() says why there is none

  // units: nullopt: ids are no units. knows_pod: templates may name what is a pod's. The resource's name, and
  // the devices, outlive it.
  Placeholders(std::string_view resource, std::vector<const Device*> devices, std::optional<UnitCounts> units,
               bool knows_pod);

  std::string_view resource() const { return resource_; }
  const std::vector<const Device*>& devices() const { return devices_; }
  // Of these of them alone from now on; {n} stays their position among all.
  void use(std::vector<const Device*> devices);

  // Does the template name more than what is the same for all devices?
  bool belongs_to_a_device(const Template& pattern) const;
  // Does the template name what only an allocation has?
  bool depends_on_the_allocation(const Template& pattern) const;

  // For the n-th of the devices.
  Text one(const Template& pattern, std::size_t n);
  // Returns the text for the n-th of the devices: {n} is `at`, or the position of the device.
  Text position(const PositionText& text, std::size_t n, std::optional<std::size_t> at = std::nullopt);
  // Refuses values that cannot be in a path: see Device::path_error().
  void check_path(const Template& pattern);
  // For all of them: what differs is joined by commas.
  Text all(const Template& pattern);
  // The text, if the kubelet takes it. origin: the template that it is from.
  Text checked(std::string text, std::string_view origin);

  void refuse(const std::string& why);
  const std::string& error() const { return error_; }

 private:
  // Elsewhere a kind may have attributes of these names.
  bool counts_units(std::string_view name) const;
  bool tells_pod(std::string_view name) const;
  // nullopt: it is each device's.
  Text scalar(std::string_view placeholder) const;
  Text value(std::string_view placeholder, std::size_t n);

  std::string_view resource_;
  std::vector<const Device*> devices_;
  std::vector<const Device*> all_;
  std::vector<std::size_t> positions_;  // of devices_ among all_
  std::optional<UnitCounts> units_;
  bool knows_pod_;
  std::string error_;
};

}  // namespace plughost
