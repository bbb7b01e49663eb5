#include "model/allocate/placeholders.hpp"

#include <algorithm>
#include <utility>

#include "model/allocate/cdi.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

// Returns a UUID (in the form of version 4) derived from the text by two FNV-1a hashes.
std::string uuid_of(std::string_view text) {
  const std::uint64_t high = (fnv1a(text) & ~0xf000ull) | 0x4000u;
  const std::uint64_t low = (fnv1a(text, kOtherFnvStart) & ~(3ull << 62)) | (2ull << 62);
  std::string uuid = hex_digits(high) + hex_digits(low);
  for (const std::size_t at : {20u, 16u, 12u, 8u}) uuid.insert(at, 1, '-');
  return uuid;
}

}  // namespace

Placeholders::Placeholders(std::string_view resource, std::vector<const Device*> devices,
                           std::optional<UnitCounts> units, bool knows_pod)
    : resource_(resource), all_(devices), units_(std::move(units)), knows_pod_(knows_pod) {
  use(std::move(devices));
}

void Placeholders::use(std::vector<const Device*> devices) {
  devices_ = std::move(devices);
  positions_.clear();
  for (std::size_t n = 0; n < all_.size() && positions_.size() < devices_.size(); ++n) {
    if (all_[n] == devices_[positions_.size()]) positions_.push_back(n);
  }
}

void Placeholders::refuse(const std::string& why) {
  if (error_.empty()) error_ = "resource " + std::string(resource_) + ": " + why;
}

Placeholders::Text Placeholders::checked(std::string text, std::string_view origin) {
  if (valid_utf8(text)) return text;
  refuse(valid_utf8(origin) ? in_quotes(origin) + " gives text that is not UTF-8"
                            : "a path of a device is not UTF-8 text");
  return std::nullopt;
}

bool Placeholders::belongs_to_a_device(const Template& pattern) const {
  return std::ranges::any_of(pattern.placeholders(), [this](std::string_view name) {
    return name != "resource" && name != "resourceEnv" && name != "count" && name != "allocation" &&
           !counts_units(name) && !tells_pod(name);
  });
}

bool Placeholders::depends_on_the_allocation(const Template& pattern) const {
  return pattern.names("n") || pattern.names("count") || pattern.names("allocation") ||
         std::ranges::any_of(pattern.placeholders(),
                             [this](std::string_view name) { return counts_units(name) || tells_pod(name); });
}

bool Placeholders::counts_units(std::string_view name) const {
  return units_ && (name == "units" || name == "totalUnits");
}
bool Placeholders::tells_pod(std::string_view name) const {
  return knows_pod_ && (name == "podUnits" || name == "pod" || name == "namespace");
}

Placeholders::Text Placeholders::scalar(std::string_view placeholder) const {
  if (placeholder == "resource") return std::string(resource_);
  if (placeholder == "resourceEnv") return resource_variable(resource_);
  if (placeholder == "allocation") {
    std::string text(resource_);
    for (const Device* device : devices_) text += '\n' + device->id;
    return uuid_of(text);
  }
  if (placeholder == "count") return std::to_string(all_.size());
  if (counts_units(placeholder))
    return std::to_string(placeholder == "units" ? units_->of_container : units_->total);
  if (tells_pod(placeholder) && units_ && units_->pod) {
    if (placeholder == "podUnits") return std::to_string(units_->pod->units);
    return placeholder == "pod" ? units_->pod->name : units_->pod->name_space;
  }
  return std::nullopt;
}

Placeholders::Text Placeholders::value(std::string_view placeholder, std::size_t n) {
  if (placeholder == "n") return std::to_string(positions_[n]);
  if (placeholder == "cardUnits" && units_) return std::to_string(devices_[n]->replicas);
  if (tells_pod(placeholder)) {
    refuse("the requesting pod is unknown, and this resource's configuration needs its {" +
           std::string(placeholder) + '}');
    return std::nullopt;
  }
  if (placeholder == "cdiName") return cdi_qualified_name(resource_, devices_[n]->id);
  if (const std::string* attribute = devices_[n]->attribute(placeholder)) return *attribute;
  refuse("device " + in_quotes(devices_[n]->id) + " has no {" + std::string(placeholder) +
         "}, which this resource's configuration needs");
  return std::nullopt;
}

Placeholders::Text Placeholders::position(const PositionText& text, std::size_t n,
                                          std::optional<std::size_t> at) {
  if (text.valid()) return checked(text.at(at.value_or(positions_[n])), text.pattern());
  refuse("the container path " + in_quotes(text.pattern()) + " of device " + in_quotes(devices_[n]->id) +
         " has a brace without a meaning: {n} is the only name there");
  return std::nullopt;
}

Placeholders::Text Placeholders::one(const Template& pattern, std::size_t n) {
  Text text = pattern.expand([&](std::string_view placeholder) {
    Text found = scalar(placeholder);
    return found ? found : value(placeholder, n);
  });
  return text ? checked(std::move(*text), pattern.text()) : std::nullopt;
}

void Placeholders::check_path(const Template& pattern) {
  for (const std::string_view placeholder : pattern.placeholders()) {
    for (const Device* const device : devices_) {
      const std::string error = device->path_error(placeholder);
      if (!error.empty()) refuse("device " + in_quotes(device->id) + ": " + error);
    }
  }
}

Placeholders::Text Placeholders::all(const Template& pattern) {
  Text text = pattern.expand([&](std::string_view placeholder) {
    if (const Text one = scalar(placeholder)) return one;
    std::string joined;
    for (std::size_t n = 0; n < devices_.size(); ++n) {
      const Text one = value(placeholder, n);
      if (!one) return Text();
      if (n > 0) joined += ',';
      joined += *one;
    }
    return Text(std::move(joined));
  });
  return text ? checked(std::move(*text), pattern.text()) : std::nullopt;
}

}  // namespace plughost
