#pragma once
// Expands the placeholders of an entry's templates for one allocation. Not thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/allocate/allocation.hpp"

namespace plughost {

// Keeps the first error. Results after an error are meaningless.
class Placeholders {
 public:
  using Text = std::optional<std::string>;  // valid UTF-8; nullopt: see error()

  // `units` is nullopt if ids are not units. With `knows_pod`, templates may use the pod's values. The
  // resource's name and the devices must outlive this object.
  Placeholders(std::string_view resource, std::vector<const Device*> devices, std::optional<UnitCounts> units,
               bool knows_pod);

  std::string_view resource() const { return resource_; }
  const std::vector<const Device*>& devices() const { return devices_; }
  // Restricts expansion to these devices; {n} remains the position among all devices.
  void use(std::vector<const Device*> devices);

  // Returns true if the template depends on the device.
  bool belongs_to_a_device(const Template& pattern) const;
  // Returns true if the template has a placeholder whose value is known only during an allocation.
  bool depends_on_the_allocation(const Template& pattern) const;

  // Expands a template for the n-th device.
  Text one(const Template& pattern, std::size_t n);
  // Returns the text for the n-th device. {n} is `at`, or else the device's position.
  Text position(const PositionText& text, std::size_t n, std::optional<std::size_t> at = std::nullopt);
  // Reports an error if a value cannot be in a path: see Device::path_error().
  void check_path(const Template& pattern);
  // Expands a template for all devices: values that differ are joined by commas.
  Text all(const Template& pattern);
  // Returns the text; nullopt, after an error, if the text is not UTF-8. `origin` is the text's template.
  Text checked(std::string text, std::string_view origin);

  void refuse(const std::string& why);
  const std::string& error() const { return error_; }

 private:
  // Return true for placeholders of units and of the pod. In other entries a kind may have such attributes.
  bool counts_units(std::string_view name) const;
  bool tells_pod(std::string_view name) const;
  // Returns nullopt if the value depends on the device.
  Text scalar(std::string_view placeholder) const;
  Text value(std::string_view placeholder, std::size_t n);

  std::string_view resource_;
  std::vector<const Device*> devices_;
  std::vector<const Device*> all_;
  std::vector<std::size_t> positions_;  // the positions of devices_ in all_
  std::optional<UnitCounts> units_;
  bool knows_pod_;
  std::string error_;
};

}  // namespace plughost
