#pragma once
// What has become of a resource's devices from one list to the next: for the log, and for whoever is told of
// single devices. Pure functions of values, thread-safe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"

namespace plughost {

// As it is, or its first bytes and "...". Of UTF-8 no character is cut.
inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;
  return std::string(text.substr(0, most)) + "...";
}

class FirstNames {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr std::size_t kLongest = 80;  // bytes; an id of ours is shorter

  void add(std::string_view name) {
    if (count_++ >= kMost) return;
    if (!names_.empty()) names_ += ", ";
    names_ += shortened(name, kLongest);
  }
  std::size_t count() const { return count_; }
  // "a, b, c, d, e and 997 more"
  std::string text() const {
    return count_ > kMost ? names_ + " and " + std::to_string(count_ - kMost) + " more" : names_;
  }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

struct DeviceChange {
  enum class Kind : std::uint8_t {
    kAppeared,   // it was not listed, or was gone
    kGone,       // it was there: it is listed for a while yet, or it is not
    kUnhealthy,  // it is there: it was Healthy, or was not there
    kHealthy,    // again: it was there, and Unhealthy
    kForgotten,  // it is not listed any more
  };
  Kind kind{};
  std::string id;
  std::string why;  // of what is listed as Unhealthy; of kForgotten nothing

  bool operator==(const DeviceChange&) const = default;
};

// By id, both the lists and the changes. A device may have two: it appears and is Unhealthy, or goes and is
// forgotten.
std::vector<DeviceChange> device_changes(std::span<const Device> before, std::span<const Device> after);
// Of a first list: its devices have not appeared.
std::vector<DeviceChange> device_changes_of_first(std::span<const Device> list);

// Devices that fared alike. However many they are, its texts are short.
struct ChangedGroup {
  std::size_t count = 0;
  std::string names;  // "a, b, c and 997 more"
  std::string why;    // the first device's; "..., and others" where they differ
};
ChangedGroup group_of(std::span<const DeviceChange> changes, DeviceChange::Kind kind);

}  // namespace plughost
